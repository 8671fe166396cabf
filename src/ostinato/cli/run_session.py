"""One session of `ostinato run`: its turns, and the answers that they wait for."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any, Protocol

from .. import types
from .._aclosing import Aclosing
from .._clock import new_id
from ..context.run_config import RunConfig
from ..errors import CallAlreadyAnsweredError, InvalidAnswerError
from ..events.event import Event
from ..events.pending import Pending, pending_calls
from ..hosting.input_answers import open_requests, read_answer
from ..runners import Runner
from ..sessions.session import Session
from .call_lookup import short_id
from .cli_error import ANSWERED, INTERRUPTED, USAGE, CliError
from .escape import exact_json
from .interrupts import on_interrupt
from .person import Person, ask_for
from .printer import Printer

LEAVES = ("/quit", "/exit", "exit")
"""What ends a chat; google-adk ends it at `exit`."""

_OK, _FAILED = 0, 1

Choose = Callable[[list[Pending]], Awaitable[Pending | None]]
"""Asks the person to choose one of several calls; returns None if they choose none."""


class Shown(Protocol):
    """Output of the turns: for a person, or as JSON lines."""

    def begin_turn(self) -> None:
        """Begin a turn and start its counters."""
        ...

    def show_event(self, event: Event) -> None:
        """Show an event as it comes."""
        ...

    def end_turn(self) -> None:
        """End a turn."""
        ...

    def show_failure(self, error: Exception) -> None:
        """Show what ended a turn."""
        ...

    def show_interrupt(self) -> None:
        """Say that a turn is being cancelled."""
        ...


class Conversation:
    """A session with an agent.

    Args:
      runner: runs the turns.
      user: the user.
      session_id: the session; a short new id if None.
      state: state to set before the first message.
      config: settings of each turn.
      shown: where events go.
    """

    def __init__(
        self,
        runner: Runner,
        user: str,
        session_id: str | None,
        state: dict[str, Any],
        config: RunConfig,
        shown: Shown,
    ) -> None:
        self._runner = runner
        self._user = user
        self._state = state
        self._config = config
        self._shown = shown
        self._started = False
        self._passed_over: set[str | None] = set()
        self._chosen = session_id is not None
        self.session_id = session_id or new_id()[:8]

    async def session(self) -> Session | None:
        """Return the stored session, or None before the first message of a new one."""
        return await self._runner.session_service.get_session(
            app_name=self._runner.app_name, user_id=self._user, session_id=self.session_id
        )

    async def pending(self) -> list[Pending]:
        """Return the calls that wait for an answer."""
        session = await self.session()
        return pending_calls(session.events) if session is not None else []

    async def say(self, text: str, choose: Choose | None = None) -> int:
        """Run a turn on the person's text; return its exit code.

        The text answers the open request for input if there is one; otherwise it is a message.

        Args:
          text: what the person typed.
          choose: asks the person which of several open requests the text answers.

        Raises:
          InvalidAnswerError: the text does not fit the request; `settle` asks again.
          CliError: several requests are open and `choose` is None.
        """
        asked = open_requests(await self.pending())
        if not asked:
            return await self.turn(types.UserContent(parts=[types.Part(text=text)]))
        if len(asked) > 1 and choose is None:
            names = ", ".join(
                f"{short_id(one, asked)} ({exact_json(one.message)})" for one in asked
            )
            raise CliError(
                f"Several questions are open: {names}. Answer each with --answer CALL VALUE.",
                USAGE,
            )
        one = asked[0] if len(asked) == 1 or choose is None else await choose(asked)
        if one is None:
            return _OK
        try:
            response = read_answer(one, text)
        except InvalidAnswerError:
            self._passed_over.discard(one.call.id)
            raise
        return await self.turn(types.UserContent(parts=[one.answer(response)]))

    async def turn(
        self, message: types.Content | None = None, invocation_id: str | None = None
    ) -> int:
        """Run one invocation, new or resumed; return its exit code.

        Ctrl-C cancels it and leaves the session valid; a second one ends the process.
        """
        self._shown.begin_turn()
        delta = await self._ensure_session()
        run = self._runner.run_async(
            user_id=self._user,
            session_id=self.session_id,
            invocation_id=invocation_id,
            new_message=message,
            state_delta=delta or None,
            run_config=self._config,
        )
        try:
            return await _run_interruptibly(self._show_run(run), self._shown.show_interrupt)
        finally:
            self._shown.end_turn()

    async def _ensure_session(self) -> dict[str, Any]:
        """Create the session if necessary; return the state that remains to be set."""
        if self._started:
            return {}
        self._started = True
        while await self.session() is not None:
            if self._chosen:
                return self._state
            self.session_id = new_id()[:8]
        await self._runner.session_service.create_session(
            app_name=self._runner.app_name,
            user_id=self._user,
            state=self._state,
            session_id=self.session_id,
        )
        return {}

    async def _show_run(self, run: AsyncGenerator[Event, None]) -> int:
        try:
            async with Aclosing(run) as events:
                async for event in events:
                    self._shown.show_event(event)
        except Exception as error:  # boundary: the turn's error is shown to the person
            self._shown.show_failure(error)
            return ANSWERED if isinstance(error, CallAlreadyAnsweredError) else _FAILED
        return _OK

    async def settle(self, person: Person, printer: Printer, problem: Callable[[str], str]) -> int:
        """Ask the person for each answer that the session waits for, and run a turn with it.

        A call that the person skips stays waiting; it is not asked for again.
        """
        code = _OK
        while code == _OK and (asked := await self._next_group()):
            answers = await ask_for(asked, person, printer, problem)
            given = {a.function_response.id for a in answers if a.function_response is not None}
            self._passed_over |= {one.call.id for one in asked} - given
            if answers:
                code = await self.turn(types.UserContent(parts=answers))
        return code

    async def _next_group(self) -> list[Pending]:
        """Return the waiting calls of the oldest event that a terminal user can answer."""
        waiting = [
            one
            for one in await self.pending()
            if one.kind != "result" and one.call.id not in self._passed_over
        ]
        return [one for one in waiting if one.event_id == waiting[0].event_id]


async def _run_interruptibly(work: Coroutine[Any, Any, int], say: Callable[[], None]) -> int:
    """Run `work`; the first Ctrl-C cancels it, a second one ends the process."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    pressed = False

    def cancel() -> None:
        say()
        task.cancel()

    # A handler of the event loop would not run while the agent's code blocks the loop.
    def press(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        pressed = True
        loop.call_soon_threadsafe(cancel)

    with on_interrupt(press):
        try:
            return await task
        except asyncio.CancelledError:
            if not pressed:
                raise
            return INTERRUPTED

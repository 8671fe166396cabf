"""Conversation: one session, its turns, and the answers that turns wait for. `run` drives it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from .. import types
from .._aclosing import Aclosing
from .._clock import new_id
from ..context.run_config import RunConfig
from ..events.event import Event
from ..events.pending import Pending, pending_calls
from ..runners import Runner
from ..sessions.session import Session
from .approvals import Person, ask_for
from .failure import INTERRUPTED
from .printer import Printer

_OK, _FAILED = 0, 1


class Shown(Protocol):
    """Where the turns are shown: to a person, or as JSON lines."""

    def event(self, event: Event) -> None:
        """Show an event as it comes."""
        ...

    def end_turn(self) -> None:
        """End a turn."""
        ...

    def failure(self, error: Exception) -> None:
        """Show what ended a turn."""
        ...

    def interrupted(self) -> None:
        """Say that a turn is being cancelled."""
        ...


class Conversation:
    """A session with an agent.

    Args:
      runner: runs the turns.
      user: the user.
      session_id: the session; a short new id where None.
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
        """Return the session as it is stored; None before the first message of a new one."""
        return await self._runner.session_service.get_session(
            app_name=self._runner.app_name, user_id=self._user, session_id=self.session_id
        )

    async def pending(self) -> list[Pending]:
        """Return the calls that wait for an answer."""
        session = await self.session()
        return pending_calls(session.events) if session is not None else []

    async def say(self, text: str) -> int:
        """Run a turn on a message; return the exit code for it."""
        return await self.turn(types.UserContent(parts=[types.Part(text=text)]))

    async def turn(
        self, message: types.Content | None = None, invocation_id: str | None = None
    ) -> int:
        """Run one invocation, new or resumed; return the exit code for it.

        Ctrl-C cancels it and leaves the session valid; a second one ends the process.
        """
        delta = await self._start()
        run = self._runner.run_async(
            user_id=self._user,
            session_id=self.session_id,
            invocation_id=invocation_id,
            new_message=message,
            state_delta=delta or None,
            run_config=self._config,
        )
        try:
            return await _interruptible(self._show(run), self._shown.interrupted)
        finally:
            self._shown.end_turn()

    async def _start(self) -> dict[str, Any]:
        """Make sure there is a session; return the state that is still to be set."""
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

    async def _show(self, run: AsyncGenerator[Event, None]) -> int:
        try:
            async with Aclosing(run) as events:
                async for event in events:
                    self._shown.event(event)
        except Exception as error:  # boundary: the person is told what ended the turn
            self._shown.failure(error)
            return _FAILED
        return _OK

    async def settle(self, person: Person, printer: Printer, problem: Callable[[str], str]) -> int:
        """Ask the person for what the session waits for, and go on with each answer.

        What the person passes over stays waiting and is not asked for again.
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
        """Return the calls of the oldest event that a person at the terminal can answer."""
        waiting = [
            one
            for one in await self.pending()
            if one.kind != "result" and one.call.id not in self._passed_over
        ]
        return [one for one in waiting if one.event_id == waiting[0].event_id]


async def _interruptible(work: Coroutine[Any, Any, int], say: Callable[[], None]) -> int:
    """Run `work`; the first Ctrl-C cancels it, a second one ends the process."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    pressed = False

    def cancel() -> None:
        say()
        task.cancel()

    # A handler of the loop would wait for the loop, which code of the agent's may hold up.
    def press(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        pressed = True
        loop.call_soon_threadsafe(cancel)

    with _on_interrupt(press):
        try:
            return await task
        except asyncio.CancelledError:
            if not pressed:
                raise
            return INTERRUPTED


@contextmanager
def _on_interrupt(handler: Callable[[int, FrameType | None], None]) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers of signals
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

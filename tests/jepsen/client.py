"""A client: a process that uses sessions through the public API and notes what it sees."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ostinato import _clock, types
from ostinato.agents.run_config import RunConfig
from ostinato.apps import App
from ostinato.errors import (
    CallAlreadyAnsweredError,
    CallNotOpenError,
    InvalidAnswerError,
    LeaseLostError,
    SessionBusyError,
    StaleSessionError,
)
from ostinato.events import Event, EventActions
from ostinato.runners import Runner
from ostinato.sessions import SqliteSessionService
from ostinato.sessions.base_session_service import GetSessionConfig
from ostinato.sessions.database_session_service import DatabaseSessionService
from tests.crash.program import seem_away
from tests.crash.world import Record
from tests.jepsen.agent import APP, USER, Tools, make_agent
from tests.jepsen.checker import CONFIRM, SHARED
from tests.jepsen.history import Recorder

LEASE_SECONDS = 2.0
_PATIENCE = 12.0  # seconds after which a client takes a request back
_ATTEMPTS = 40  # owners of one invocation, so that none is parked
_KINDS = ("read", "tail", "append", "message", "ask", "submit", "answer", "cancel", "greet")
_WEIGHTS = (25, 8, 25, 18, 5, 5, 10, 2, 2)


@dataclass
class ClientPlan:
    """What a client is to do.

    Attributes:
      name: unlike that of any other process.
      folder: where everything is noted.
      url: the database; empty for an SQLite file in the folder above.
      sessions: the ids of the sessions.
      until: when to stop, by the monotonic clock.
      seed: which operations.
      tasks: how many run side by side.
      is_away: whether it seems to be on a host of its own.
      pace: seconds that a tool takes.
      behind: seconds that the clock of its host is behind.
      plant: a fault of `planted.py`.
    """

    name: str
    folder: str
    url: str
    sessions: list[str]
    until: float
    seed: int
    tasks: int = 2
    is_away: bool = False
    pace: float = 0.01
    behind: float = 0.0
    plant: str = ""

    def save(self) -> Path:
        """Write it into its folder; return the file."""
        path = Path(self.folder) / f"{self.name}.plan"
        path.write_text(json.dumps(asdict(self)))
        return path


def open_service(url: str, folder: Path, number: int = 0) -> Any:
    """Return a session service over the store of a run."""
    if url:
        return DatabaseSessionService(url, reconnect_seconds=3.0, answer_seconds=1.5)
    kind: Any = ("NORMAL", "FULL")[number % 2]
    return SqliteSessionService(folder.parent / "sessions.db", synchronous=kind)


def open_runner(service: Any, tools: Tools) -> Runner:
    """Return a runner whose leases are short."""
    app = App(name=APP, root_agent=make_agent(tools))
    return Runner(
        app=app, session_service=service, lease_seconds=LEASE_SECONDS, max_attempts=_ATTEMPTS
    )


class Client:
    """One task of a process: it does one operation after another.

    Args:
      plan: what its process is to do.
      task: its number.
      service: the session service of its process.
      runner: the runner of its process.
    """

    def __init__(self, plan: ClientPlan, task: int, service: Any, runner: Runner) -> None:
        self._plan, self._service, self._runner = plan, service, runner
        self._name = f"{plan.name}/{task}"
        self._recorder = Recorder(Path(plan.folder) / f"{plan.name}.{task}.jsonl", self._name)
        self._chance = random.Random(f"{plan.seed} {self._name}")
        self._count = 0
        self._own: list[str] = []
        self._session: Any = None
        self._seen = self._troubles = 0

    async def run(self) -> None:
        """Do operations until the time is over."""
        while time.monotonic() < self._plan.until:
            session = self._chance.choice(self._plan.sessions)
            kind = self._chance.choices(_KINDS, _WEIGHTS)[0]
            await getattr(self, f"_do_{kind}")(session)
            # A client that is cut off shall not fill the history with failures.
            await asyncio.sleep(self._chance.uniform(0.0, 0.4 if self._troubles else 0.02))
            self._troubles = 0

    def _make_tag(self, letter: str) -> str:
        self._count += 1
        return f"{letter}-{self._name}-{self._count}"

    async def _call(
        self, name: str, work: Callable[[], Awaitable[Any]], *refusals: type[Exception]
    ) -> tuple[str, Any]:
        """Call the API and note a failure; return the outcome and what came back.

        Args:
          name: the operation.
          work: the call.
          refusals: errors after which nothing was stored.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                return "ok", await work()
        except LeaseLostError as error:
            outcome, raised = "info", error
        except refusals as error:
            outcome, raised = "fail", error
        except Exception as error:
            outcome, raised = "info", error
        told = getattr(raised, "answer", None) or {}
        first = {"first": told["payload"]} if isinstance(told.get("payload"), str) else {}
        if outcome == "info":
            self._troubles += 1
        self._recorder.end(name, outcome, f"{type(raised).__name__}: {raised}", **first)
        return outcome, None

    async def _do_read(self, session: str) -> Any:
        """Read a session; later appends are made with it."""
        name = self._recorder.begin("read", session)
        _, found = await self._call(name, lambda: self._load(session))
        if found is None:
            return None
        ids, state = [event.id for event in found.events], dict(found.state)
        self._recorder.end_read(name, session, ids, state=state)
        self._session, self._seen, self._own = found, len(ids), []
        return found

    async def _do_tail(self, session: str) -> None:
        """Read the newest events of a session."""
        config = GetSessionConfig(num_recent_events=self._chance.randint(1, 6))
        name = self._recorder.begin("tail", session)
        _, found = await self._call(name, lambda: self._load(session, config))
        if found is not None:
            ids = [event.id for event in found.events]
            self._recorder.end(name, "ok", ids=ids, state=dict(found.state))

    async def _load(self, session: str, config: GetSessionConfig | None = None) -> Any:
        return await self._service.get_session(
            app_name=APP, user_id=USER, session_id=session, config=config
        )

    async def _do_append(self, session: str) -> None:
        """Append events from outside of any run, upon what was read some time before."""
        if self._session is None or self._session.id != session or self._chance.random() < 0.5:
            await self._do_read(session)
        if self._session is None or self._session.id != session:
            return
        for _ in range(self._chance.randint(1, 3)):
            tag = self._make_tag("a")
            value = None if self._chance.random() < 0.15 else tag
            key = SHARED if self._chance.random() < 0.6 else f"own-{self._name}"
            event = Event(
                author="outside",
                id=tag,
                content=types.Content(role="user", parts=[types.Part(text=tag)]),
                actions=EventActions(state_delta={key: value}),
            )
            outcome = await self._append(session, event, tag)
            if outcome == "info" and self._chance.random() < 0.7:
                if await self._do_read(session) is not None:  # the same event once more
                    await self._append(session, event, tag)
            if outcome != "ok":
                self._session = None
                return

    async def _append(self, session: str, event: Event, tag: str) -> str:
        shown, own = self._session, list(self._own)
        name = self._recorder.begin(
            "append", session, tag=tag, id=event.id, seen=self._seen, own=own
        )
        self._own.append(event.id)
        copy = event.model_copy(deep=True)
        outcome, _ = await self._call(
            name, lambda: self._service.append_event(shown, copy), StaleSessionError
        )
        if outcome == "ok":
            self._recorder.end(name, "ok")
        return outcome

    async def _do_message(self, session: str) -> None:
        await self._send(session, self._make_tag("m"))

    async def _do_ask(self, session: str) -> None:
        await self._send(session, self._make_tag("q"))

    async def _send(self, session: str, tag: str) -> None:
        """Run a turn; repeat it under its key if its outcome is unknown."""
        key = tag if self._chance.random() < 0.4 else None
        busy: Any = self._chance.choices(("queue", "reject", "interrupt"), (8, 2, 1))[0]
        for _ in range(3 if key else 1):
            name = self._recorder.begin("message", session, tag=tag, key=key or "", busy=busy)
            refusals = (SessionBusyError,) if busy == "reject" else ()
            outcome = await self._run_turn(name, session, tag, refusals, key, busy)
            if outcome != "info" or time.monotonic() > self._plan.until:
                return

    async def _run_turn(
        self,
        name: str,
        session: str,
        message: Any,
        refusals: tuple[type[Exception], ...],
        key: str | None = None,
        busy: Any = "queue",
    ) -> str:
        async def work() -> None:
            run = self._runner.start(
                user_id=USER,
                session_id=session,
                new_message=message,
                run_config=RunConfig(on_busy=busy),
                idempotency_key=key,
            )
            try:
                await run.wait_until_accepted()
                self._recorder.accept(name)
                async for event in run:
                    if not event.partial:
                        self._recorder.see(name, event.id)
            except asyncio.CancelledError:
                await run.cancel()
                raise

        outcome, _ = await self._call(name, work, *refusals)
        if outcome == "ok":
            self._recorder.end(name, "ok")
        return outcome

    async def _do_submit(self, session: str) -> None:
        """Leave a message for any process that is free."""
        tag = self._make_tag("m")
        name = self._recorder.begin("submit", session, tag=tag)
        outcome, _ = await self._call(
            name,
            lambda: self._runner.submit(user_id=USER, session_id=session, new_message=tag),
        )
        if outcome == "ok":
            self._recorder.end(name, "ok")

    async def _do_answer(self, session: str) -> None:
        """Answer a call that waits, while others do the same."""
        found = await self._do_read(session)
        waiting = _find_open(found.events) if found is not None else []
        if not waiting:
            return
        call, what = self._chance.choice(waiting[-2:])
        tag, confirmed = self._make_tag("y"), self._chance.random() < 0.7
        response = types.FunctionResponse(
            id=call, name=CONFIRM, response={"confirmed": confirmed, "payload": tag}
        )
        message = types.Content(role="user", parts=[types.Part(function_response=response)])
        name = self._recorder.begin(
            "answer", session, tag=tag, call=call, what=what, confirmed=confirmed
        )
        refusals = (CallAlreadyAnsweredError, CallNotOpenError, InvalidAnswerError)
        await self._run_turn(name, session, message, refusals)

    async def _do_cancel(self, session: str) -> None:
        """Cancel the run of the session, whosever it is."""
        name = self._recorder.begin("cancel", session)
        outcome, found = await self._call(
            name, lambda: self._runner.cancel(user_id=USER, session_id=session)
        )
        if outcome == "ok":
            self._recorder.end(name, "ok", found=found)

    async def _do_greet(self, session: str) -> None:
        """Resume what dead processes left, as a service does when it starts."""
        name = self._recorder.begin("greet", session)
        outcome, found = await self._call(name, self._runner.resume_open)
        if outcome == "ok":
            self._recorder.end(name, "ok", resumed=len(found))


def _find_open(events: list[Event]) -> list[tuple[str, str]]:
    """Return the approvals without an answer, each with what is to be approved."""
    answered = {r.id for e in events if e.author == "user" for r in e.get_function_responses()}
    return [
        (str(call.id), str((call.args or {})["originalFunctionCall"]["args"]["what"]))
        for event in events
        for call in event.get_function_calls()
        if call.name == CONFIRM and call.id not in answered
    ]


async def run_client(plan: ClientPlan, service: Any = None) -> None:
    """Do what a plan says.

    Args:
      plan: the plan.
      service: the session service; made from the plan if it is missing.
    """
    number = plan.seed
    if plan.is_away:
        seem_away(number)
    if plan.behind:
        _clock.use_sources(time=lambda: time.time() - plan.behind)
    folder = Path(plan.folder)
    service = service or open_service(plan.url, folder, number)
    runner = open_runner(service, Tools(Record(folder / "effects"), plan.pace))
    clients = [Client(plan, task, service, runner) for task in range(plan.tasks)]
    await asyncio.gather(*(client.run() for client in clients))
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await runner.close()
            await service.close()

"""One trial of a scenario: a process that runs it, dies at a point, and another that resumes it."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from .. import types
from .._aclosing import Aclosing
from ..agents.llm_agent import LlmAgent
from ..apps.app import App
from ..artifacts.file_artifact_service import FileArtifactService
from ..errors import OstinatoError
from ..events.event import Event
from ..events.node_call import NodeCallRecord, name_path
from ..events.pending import CONFIRMATION, CREDENTIAL, Pending, pending_calls
from ..events.request_input import REQUEST_INPUT
from ..memory.in_memory_memory_service import InMemoryMemoryService
from ..runners import Runner
from ..sessions.session import Session
from ..sessions.sqlite_session_service import SqliteSessionService
from ..sessions.store.durable_store import Fence, Place
from ..tools.call_doubt import UNKNOWN
from ..workflow.tool_node import find_asking_call
from .crash_points import (
    CrashWorld,
    ProcessKilledError,
    Replies,
    describe_error,
    instrument,
    open_watched_store,
)
from .scenario import Scenario, Step
from .scripted_model import call

_USER, _SESSION = "user", "session"
_ATTEMPTS = 12  # runs of one process beyond the scenario's steps, at most
_IN_DOUBT = "was interrupted and may have taken effect already"


@dataclass(slots=True)
class TrialOutcome:
    """What a trial left.

    Attributes:
      points: names of the points that the last process passed.
      trace: the events of the session, without ids and times, ordered by branch.
      outputs: what the nodes of a workflow gave, by node; see `list_outputs`.
      state: the session's state.
      marks: lines of the tools, of all processes.
      replies: what models said that have no script.
      error: what went wrong; '' if nothing.
      told_unknown: whether the model or a person was told that a call may have taken effect.
      died: the point at which the first process died; '' if it did not.
    """

    points: list[str] = field(default_factory=list[str])
    trace: list[str] = field(default_factory=list[str])
    outputs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    marks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    replies: Replies = field(default_factory=dict[tuple[str, int], list[Any]])
    error: str = ""
    told_unknown: bool = False
    died: str = ""


class CrashTrials:
    """Runs trials of one agent and scenario, each in a folder of its own.

    Args:
      agent: an agent, or an App.
      scenario: what is said and answered.
      kills: whether processes are really killed; else a trial stays in this process.
      seconds: after how many seconds a process is taken to hang.
      reset: called before each trial, to put the outside world back.
    """

    def __init__(
        self,
        agent: Any,
        scenario: Scenario,
        *,
        kills: bool,
        seconds: float,
        reset: Callable[[], object] | None = None,
    ) -> None:
        self._agent, self._scenario, self._reset = agent, scenario, reset
        self._kills, self._seconds = kills, seconds
        self._root = agent.root_agent if isinstance(agent, App) else agent
        self.replies: Replies = {}

    def warm_up(self) -> None:
        """Load what every process needs, by a run of another agent: forked processes share it."""
        trials = CrashTrials(
            LlmAgent(name="warm", tools=[_warm_tool]),
            Scenario([Step("say", "Go")], {"": [call("_warm_tool"), "Done"]}),
            kills=False,
            seconds=self._seconds,
        )
        trials.run(None)

    def run(self, at: int | None, *, probe: bool = False) -> TrialOutcome:
        """Run the scenario; if a process dies at the point `at`, another one resumes it."""
        with tempfile.TemporaryDirectory(prefix="ostinato-prove-") as folder:
            path, died = Path(folder), ""
            if self._reset is not None:
                self._reset()
            _run_in_thread(lambda: asyncio.run(_create_session(self._world(path), self._names)))
            outcome = self._in_process(lambda: self._be_process(path, at, probe))
            if outcome is None:  # it was killed
                names = self._world(path).read_notes()
                died = next((one["name"] for one in names if one["kind"] == "died"), "?")
                outcome = self._in_process(lambda: self._be_process(path, None, probe))
            outcome = outcome or TrialOutcome(error="the process that resumed died")
            outcome.died = died
            outcome.marks = self._world(path).read_notes()
            return outcome

    @property
    def _names(self) -> dict[str, Any]:
        name = self._agent.name if isinstance(self._agent, App) else "test"
        return {"app_name": name, "state": dict(self._scenario.state)}

    def _world(self, folder: Path, at: int | None = None) -> CrashWorld:
        return CrashWorld(folder, at, kills=self._kills, replies=self.replies)

    def _be_process(self, folder: Path, at: int | None, probe: bool) -> TrialOutcome | None:
        """Be one process of a trial; return None if it died."""
        world = self._world(folder, at)
        outcome = TrialOutcome()
        try:
            with instrument(world, self._scenario, self._root.name, probe):
                asyncio.run(self._drive(world))
        except ProcessKilledError:
            pass
        except Exception as error:  # boundary: the report names it
            outcome.error = "".join(traceback.format_exception_only(error)).strip()
        if world.is_dead:
            asyncio.run(_free_leases(world, self._names["app_name"]))
            return None
        session = asyncio.run(_load_session(world, self._names["app_name"]))
        outcome.points, outcome.replies = world.points, world.replies
        outcome.trace, outcome.outputs = make_trace(session), list_outputs(session)
        outcome.state = dict(session.state)
        outcome.told_unknown = any(
            _IN_DOUBT in text or UNKNOWN in text
            for text in (f"{one.content} {one.error_message}" for one in session.events)
        )
        return outcome

    async def _drive(self, world: CrashWorld) -> None:
        service = open_watched_store(world)
        options: dict[str, Any] = {
            "session_service": service,
            "artifact_service": FileArtifactService(world.folder / "artifacts"),
            "memory_service": InMemoryMemoryService(),
        }
        if isinstance(self._agent, App):
            runner = Runner(app=self._agent, **options)
        else:
            runner = Runner(agent=self._agent, app_name="test", **options)
        user = _ScriptedUser(world, runner, self._scenario.steps)
        try:
            await user.converse()
        finally:
            with suppress(ProcessKilledError, OstinatoError):
                await runner.close()
            await service.close()

    def _in_process(self, work: Callable[[], Any]) -> Any:
        """Run something in a forked process, if processes are killed; else in a thread."""
        return _run_forked(work, self._seconds) if self._kills else _run_in_thread(work)


def _warm_tool() -> str:
    """Return a word."""
    return "warm"


class _ScriptedUser:
    """The user: looks what the session holds, and sends the next message of the scenario."""

    def __init__(self, world: CrashWorld, runner: Runner, steps: Sequence[Step]) -> None:
        self._world, self._runner, self._steps = world, runner, steps

    async def converse(self) -> None:
        """Send what has not been sent, until all is said and done."""
        await self._runner.resume_open()
        tries = 0
        while tries < _ATTEMPTS + len(self._steps):
            tries += 1
            events = (
                await _find_session(self._runner.session_service, self._runner.app_name)
            ).events
            doubts, sent = _count_sent(events)
            if doubts:
                done = {one["call"] for one in self._world.read_notes() if one["kind"] == "end"}
                node_call = find_asking_call(doubts[0].call)
                yes = (node_call or doubts[0].tool_call_id) not in done
                await self._send([doubts[0].answer({"result" if node_call else "confirmed": yes})])
            elif sent < len(self._steps):
                await self._send(_message_of(self._steps[sent], events))
            else:
                return
        raise RuntimeError("the scenario does not end: its messages are not stored")

    async def _send(self, message: str | list[types.Part]) -> None:
        parts = [types.Part(text=message)] if isinstance(message, str) else message
        run = self._runner.run_async(
            user_id=_USER,
            session_id=_SESSION,
            new_message=types.Content(role="user", parts=parts),
        )
        try:
            async with Aclosing(run):
                async for _ in run:
                    pass
        except Exception as error:  # boundary: a tool may raise; the log shows what came of it
            self._world.note("raised", error=describe_error(error))
            if isinstance(error, AssertionError):
                raise


def _count_sent(events: Sequence[Event]) -> tuple[list[Pending], int]:
    """Return the open questions about calls in doubt, and how many steps were sent."""
    asked = {
        call.id
        for event in events
        for call in event.get_function_calls()
        if _IN_DOUBT in str(call.args) and (call.name == CONFIRMATION or find_asking_call(call))
    }
    sent = 0
    for event in events:
        answered = {one.id for one in event.get_function_responses()}
        sent += event.author == "user" and not answered & asked
    return [one for one in pending_calls(events) if one.call.id in asked], sent


def _message_of(step: Step, events: Sequence[Event]) -> str | list[types.Part]:
    if step.kind == "say":
        return step.text
    waiting = pending_calls(events)
    made = {call.id: call.name or "" for event in events for call in event.get_function_calls()}
    for one in waiting:
        node_asks = bool(find_asking_call(one.call))
        names = [one.tool, one.call.name]
        if step.kind != "answer" or one.kind != "approval":  # an agent may ask in other ways, too
            names.append(one.asker)
        names += [one.payload["tool"]] if node_asks else []
        names.append(made.get((one.call.args or {}).get("functionCallId"), one.tool))
        if step.text not in names:
            continue
        if step.kind == "answer" and one.kind != "credential":
            return [one.answer(dict(step.response))]
        if one.kind == "approval" or node_asks:
            return [one.answer({"result" if node_asks else "confirmed": step.kind == "approve"})]
    found = ", ".join(f"{one.tool} ({one.kind})" for one in waiting) or "none"
    raise AssertionError(
        f"the scenario wants to {step.kind} a call of {step.text!r}; these wait: {found}"
    )


def make_trace(session: Session) -> list[str]:
    """Return the events of a session without ids, times and flags; branches one after another."""
    lines: list[tuple[str, str]] = []
    for event in session.events:
        parts = event.content.parts or [] if event.content else []
        words = [_describe_part(part) for part in parts]
        delta = {k: v for k, v in event.actions.state_delta.items() if not k.startswith("temp:")}
        if delta:
            words.append(f"state {delta!r}")
        if event.error_message:
            words.append(f"error {event.error_message}")
        if words:
            lines.append((event.branch or "", f"{event.author}: {'; '.join(words)}"))
    return [text for _, text in sorted(lines, key=itemgetter(0))]


def list_outputs(session: Session) -> dict[str, list[str]]:
    """Return what the nodes of a workflow gave, and which calls of tools they made, by node.

    Nodes may run beside each other, so their events have no order; runs of one node are in that of
    their ids.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for event in session.events:
        made, path = NodeCallRecord.of(event), event.node_info.path
        if event.output is not None or made is not None:
            args = "" if made is None else f"({made.args!r})"
            lines = found.setdefault(name_path(path), [])
            lines.append((path, f"{name_path(path)}{args} gives {event.output!r}"))
    return {
        name: [text for _, text in sorted(lines, key=itemgetter(0))]
        for name, lines in found.items()
    }


def _describe_part(part: types.Part) -> str:
    if part.function_call is not None:
        if part.function_call.name == CONFIRMATION:
            return "asks for confirmation"
        if part.function_call.name == CREDENTIAL:
            return "asks for a credential"
        args = {**(part.function_call.args or {})}
        if part.function_call.name == REQUEST_INPUT:
            for made in ("interruptId", "functionCallId"):  # by the runtime, anew in every run
                args.pop(made, None)
        return f"calls {part.function_call.name}({args!r})"
    if part.function_response is not None:
        return f"{part.function_response.name} answers {part.function_response.response!r}"
    return part.text or "data"


async def _create_session(world: CrashWorld, names: dict[str, Any]) -> None:
    service = SqliteSessionService(world.database)
    await service.create_session(user_id=_USER, session_id=_SESSION, **names)
    await service.close()


async def _load_session(world: CrashWorld, app: str) -> Session:
    service = SqliteSessionService(world.database)
    try:
        return await _find_session(service, app)
    finally:
        await service.close()


async def _find_session(service: Any, app: str) -> Session:
    found = await service.get_session(app_name=app, user_id=_USER, session_id=_SESSION)
    if found is None:
        raise AssertionError("the scenario's session is gone")
    return found


async def _free_leases(world: CrashWorld, app: str) -> None:
    """End the leases of a process that only seems dead, as their expiry would.

    An agent that runs as a tool has a session of its own, and with it a lease.
    """
    service = SqliteSessionService(world.database)
    leases = [await service.lease(Place(app, _USER, _SESSION)), *await service.open_leases()]
    for lease in leases:
        if lease is not None and lease.owner:
            await service.hand_over(lease.place, Fence(lease.owner, lease.token), failed=True)
    await service.close()


def _run_in_thread(work: Callable[[], Any]) -> Any:
    """Run something in a thread of its own: this one may have an event loop."""
    found: list[Any] = []
    raised: list[BaseException] = []

    def body() -> None:
        try:
            found.append(work())
        except BaseException as error:  # boundary: raised again below
            raised.append(error)

    thread = threading.Thread(target=body, name="ostinato-prove")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return found[0]


def _run_forked(work: Callable[[], Any], seconds: float) -> Any:
    """Run something in a forked process; return None if that was killed.

    Raises:
      RuntimeError: the process failed or hangs.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns where other threads run. They hold no lock that the child needs: its
        # loop, its store and its threads are its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(reader)
        _be_child(work, writer)
    os.close(writer)
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGABRT))
    timer.start()
    try:
        with os.fdopen(reader, "rb") as pipe:
            written = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        timer.cancel()
    if not written and code == -signal.SIGKILL:
        return None
    if not written:
        hint = f"took more than {seconds:g} s" if code == -signal.SIGABRT else f"ended with {code}"
        raise RuntimeError(f"A process of the scenario {hint} and left no result.")
    result, error = pickle.loads(written)
    if error:
        raise RuntimeError(f"A process of the scenario failed: {error}")
    return result


def _be_child(work: Callable[[], Any], writer: int) -> None:
    """Run something, write its result, and end this process without any cleaning up."""
    try:
        try:
            written = pickle.dumps((_run_in_thread(work), ""))
        except BaseException:  # boundary: the parent raises it
            written = pickle.dumps((None, traceback.format_exc()))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(written)
    finally:
        # The child never returns into the caller's program, nor runs what that does at its exit.
        os.kill(os.getpid(), signal.SIGKILL)

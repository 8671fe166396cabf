"""Live runs and everything else that happens to a session: leases, deaths, other runs."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sqlite3
import sys
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LiveRequestQueue, LlmAgent, LoopAgent, ParallelAgent, RunConfig
from ostinato.errors import RunCancelledError, SessionBusyError
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.runners import InMemoryRunner, Runner
from ostinato.sessions.log.resume import RERUN
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.tools import FunctionTool
from ostinato.utils.context_utils import Aclosing
from tests.support.optionals import present
from tests.unit.durable.crash import PLACE, WHO, DyingStore, Killed, unanswered
from tests.unit.flows.kit import Store, Talk, answer_to
from tests.unit.flows.live.kit import (
    DONE,
    HEARD,
    LiveModel,
    call,
    calls,
    converse,
    lines,
    live,
    said,
    text,
)

pytestmark = pytest.mark.long


def script() -> list[Any]:
    return [HEARD, calls(call("pay", "a"), call("pay", "b")), HEARD, HEARD, text("Paid"), DONE]


class Life:
    """A session over several processes that speak live; the first one may die."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.paid = 0
        self.commits = 0

    def runner(self, store: SqliteSessionService, model: LiveModel) -> Runner:
        def pay() -> str:
            self.paid += 1
            return "paid"

        root = LlmAgent(name="root", model=model, tools=[pay])
        return Runner(app_name="talk", agent=root, session_service=store, auto_create_session=True)

    async def die(
        self,
        at: int,
        after: bool,
        message: types.Content | None = None,
        steps: list[Any] | None = None,
    ) -> None:
        """Speak live until commit `at`, and die there."""
        store = DyingStore(self.path, at, after)
        runner = self.runner(store, LiveModel([*(steps or script())]))
        try:
            await self._speak(runner, message)
        except Killed:
            pass
        except BaseExceptionGroup as group:
            assert group.subgroup(Killed) is not None
        self.commits = store.commits
        if not store.dead:
            await runner.close()
        store.dead = True
        await store.close()
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("UPDATE ostinato_lease SET expires = 0")

    async def _speak(self, runner: Runner, message: types.Content | None = None) -> list[Any]:
        queue = LiveRequestQueue()
        queue.send_content(message or said("Pay"))
        events: list[Any] = []
        async with asyncio.timeout(60):
            run = runner.run_live(**WHO, live_request_queue=queue)
            async with Aclosing(run) as stream:
                async for event in stream:
                    events.append(event)
                    if event.turn_complete:
                        queue.close()
        return events

    async def go_on(self, how: str) -> LiveModel:
        """Start the next process and do something with the session."""
        store = SqliteSessionService(self.path, synchronous="NORMAL")
        model = LiveModel([HEARD, text("Yes"), DONE])
        runner = self.runner(store, model)
        if how == "resume_open":
            for recovered in await runner.resume_open():
                assert recovered.outcome == "finished", recovered
        else:
            await self._speak(runner)
        await runner.close()
        await store.close()
        return model

    async def log(self) -> list[Any]:
        store = SqliteSessionService(self.path)
        session = await store.get_session(**PLACE)
        await store.close()
        return list(session.events) if session is not None else []

    def open_leases(self) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as db, db:
            query = "SELECT invocation_id FROM ostinato_lease WHERE invocation_id != ''"
            return db.execute(query).fetchall()


@pytest.mark.parametrize("how", ["resume_open", "run_live"])
async def test_a_death_at_any_commit_leaves_a_session_that_can_go_on(
    tmp_path: Path, how: str
) -> None:
    """No call is left open, none is run again, and the next run begins with the log."""
    whole = Life(tmp_path / "whole.db")
    await whole.die(0, False)
    assert whole.commits >= 5
    for at in range(1, whole.commits + 1):
        for after in (False, True):
            life = Life(tmp_path / f"{at}-{after}.db")
            await life.die(at, after)
            paid, before = life.paid, await life.log()
            model = await life.go_on(how)
            log = await life.log()
            assert unanswered(log) == [], (at, after)
            assert life.paid == paid, "a live call is not run again"
            assert log[: len(before)] == before
            assert life.open_leases() == []
            if how == "run_live" and before:
                assert model.connections[0].history is not None
            answers = [r.id for e in log for r in e.get_function_responses()]
            assert len(answers) == len(set(answers))


async def test_a_result_that_was_stored_before_the_death_is_told(tmp_path: Path) -> None:
    """What had ended is answered with its result, what had begun with that its end is unknown."""
    whole = Life(tmp_path / "whole.db")
    await whole.die(0, False)
    said_after: set[str] = set()
    for at in range(1, whole.commits + 1):
        life = Life(tmp_path / f"{at}.db")
        await life.die(at, True)
        await life.go_on("resume_open")
        for line in lines(await life.log()):
            said_after.update(part for part in ("'paid'", "unknown") if part in line)
    assert said_after == {"'paid'", "unknown"}


class Desk(Life):
    """A session whose agent has asked in one live run whether it may pay; the next one may die."""

    def runner(self, store: SqliteSessionService, model: LiveModel) -> Runner:
        def pay() -> str:
            self.paid += 1
            return "paid"

        tool = FunctionTool(pay, require_confirmation=True, in_doubt="rerun")
        root = LlmAgent(name="root", model=model, tools=[tool])
        return Runner(app_name="talk", agent=root, session_service=store, auto_create_session=True)

    async def ask(self) -> types.Content:
        """Have the agent ask; return the user's approval."""
        store = SqliteSessionService(self.path, synchronous="NORMAL")
        runner = self.runner(store, LiveModel([HEARD, calls(call("pay", "a")), HEARD, DONE]))
        events = await self._speak(runner)
        await runner.close()
        await store.close()
        found = [one for event in events for one in event.get_function_calls()]
        asked = next(one for one in found if one.name == "adk_request_confirmation")
        return answer_to(asked, {"confirmed": True})


@pytest.mark.parametrize("how", ["resume_open", "run_live"])
async def test_what_was_approved_in_a_live_run_that_died_is_run_once(
    tmp_path: Path, how: str
) -> None:
    script = [HEARD, text("Thanks"), DONE]
    whole = Desk(tmp_path / "whole.db")
    await whole.die(0, False, await whole.ask(), script)
    assert whole.paid == 1
    for at in range(1, whole.commits + 1):
        for after in (False, True):
            desk = Desk(tmp_path / f"{at}-{after}.db")
            await desk.die(at, after, await desk.ask(), script)
            before = await desk.log()
            accepted = any(e.author == "user" and e.get_function_responses() for e in before)
            await desk.go_on(how)
            assert desk.paid == accepted or _ran_again(await desk.log()), (at, after)
            assert desk.open_leases() == []
            if accepted:
                assert unanswered(await desk.log()) == []
                said_last = [r for e in await desk.log() for r in e.get_function_responses()][-1]
                assert (said_last.id, said_last.response) == ("a", {"result": "paid"})


def _ran_again(log: list[Any]) -> bool:
    return any((event.custom_metadata or {}).get(RERUN) for event in log)


async def test_a_live_run_that_cannot_be_ended_is_parked(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.db")
    await desk.die(2, True, await desk.ask(), [HEARD, text("Thanks"), DONE])
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("UPDATE ostinato_lease SET attempts = 3")
    store = SqliteSessionService(tmp_path / "a.db")
    runner = desk.runner(store, LiveModel())
    [recovered] = await runner.resume_open()
    assert recovered.outcome == "stuck" and "started 3 times" in recovered.reason
    assert desk.paid == 0
    await runner.close()
    await store.close()


async def test_a_live_run_has_the_session_to_itself(store: Store) -> None:
    begun = asyncio.Event()
    model = LiveModel([HEARD, begun.set])
    talk, queue = Talk(LlmAgent(name="root", model=model), store), LiveRequestQueue()
    queue.send_content(said("Hi"))
    task = asyncio.create_task(converse(talk, queue))
    await begun.wait()
    error = await talk.fails("Me too", run_config=RunConfig(on_busy="reject"))
    assert isinstance(error, SessionBusyError)
    queue.close()
    await task
    assert lines(await talk.stored()) == ["user Hi"]


async def test_a_live_run_can_be_cancelled_from_outside(store: Store) -> None:
    begun = asyncio.Event()

    async def wait() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    model = LiveModel([HEARD, calls(call("wait", "a"))])
    root = LlmAgent(name="root", model=model, tools=[wait])
    talk, queue = Talk(root, store), LiveRequestQueue()
    queue.send_content(said("Hi"))
    before = asyncio.all_tasks()

    async def read() -> None:
        async for _ in live(talk, queue):
            pass

    task = asyncio.create_task(read())
    await begun.wait()
    assert await talk.runner.cancel(**WHO)
    with pytest.raises(RunCancelledError):
        await task
    assert asyncio.all_tasks() <= before
    assert unanswered(await talk.stored()) == []


async def test_a_turn_in_writing_goes_on_after_a_live_one(store: Store) -> None:
    """The log of a live run is history for `run_async` too."""

    class Both(LiveModel):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            self.requests.append(llm_request)
            yield text("Written")

    model = Both([HEARD, text("Spoken"), DONE])  # pyright: ignore[reportCallIssue]
    talk, queue = Talk(LlmAgent(name="root", model=model), store), LiveRequestQueue()
    queue.send_content(said("Hi"))
    await converse(talk, queue)
    await talk.say("And now?")
    contents = [part.text for c in model.requests[-1].contents for part in c.parts or ()]
    assert contents == ["Hi", "Spoken", "And now?"]


async def test_plugins_see_the_events_of_a_live_run(memory: Store) -> None:
    seen: list[str] = []

    class Watch(BasePlugin):
        async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
            seen.extend(lines([event]))

        async def before_run_callback(self, *, invocation_context: Any) -> None:
            seen.append("before")

        async def after_run_callback(self, *, invocation_context: Any) -> None:
            seen.append("after")

    model = LiveModel([HEARD, text("He", True), text("Hello", False), DONE])
    root = LlmAgent(name="root", model=model)
    talk, queue = Talk(root, memory, plugins=[Watch(name="watch")]), LiveRequestQueue()
    queue.send_content(said("Hi"))
    await converse(talk, queue)
    assert seen == ["before", "~root He", "root Hello", "root turn_complete", "after"]


@pytest.mark.parametrize("kind", [LoopAgent, ParallelAgent])
async def test_other_shells_say_that_they_have_no_live_runs(kind: Any, memory: Store) -> None:
    root = kind(name="shell", sub_agents=[LlmAgent(name="one", model=LiveModel())])
    with pytest.raises(NotImplementedError, match="SequentialAgent"):
        await converse(Talk(root, memory), LiveRequestQueue())


async def test_the_users_ids_may_be_those_of_a_session(memory: Store) -> None:
    model = LiveModel([HEARD, text("a"), DONE])
    talk, queue = Talk(LlmAgent(name="root", model=model), memory), LiveRequestQueue()
    session = await memory.service.create_session(**PLACE)
    queue.send_content(types.Content(parts=[types.Part(text="Hi")]))
    run = talk.runner.run_live(session=session, live_request_queue=queue)
    async with Aclosing(run) as events:
        assert lines([await anext(events)]) == ["root a"]
    assert present((await talk.stored())[0].content).role == "user"


async def test_metadata_of_the_run_is_on_every_event(memory: Store) -> None:
    model = LiveModel([HEARD, text("a"), DONE])
    talk, queue = Talk(LlmAgent(name="root", model=model), memory), LiveRequestQueue()
    queue.send_content(said("Hi"))
    await converse(talk, queue, RunConfig(custom_metadata={"call": 7}))
    assert all(event.custom_metadata == {"call": 7} for event in await talk.stored())


def test_a_live_run_left_by_break_at_the_end_of_the_program_warns_of_nothing() -> None:
    """Its generator is finalized when no loop runs any more, which could not seal the run."""
    unraisable: list[Any] = []

    async def main() -> None:
        root = LlmAgent(name="root", model=LiveModel([HEARD, text("Hi"), DONE, HEARD]))
        runner = InMemoryRunner(agent=root, app_name="talk")
        await runner.session_service.create_session(**PLACE)
        queue = LiveRequestQueue()
        queue.send_content(types.UserContent("Hi"))
        async for event in runner.run_live(**WHO, live_request_queue=queue):
            if event.turn_complete:
                break

    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            asyncio.run(main())
            gc.collect()
    finally:
        sys.unraisablehook = hook
    assert not unraisable and not warned

"""State that parallel branches of one run write, and that others write beside a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent, BaseAgent, ParallelAgent
from ostinato.events import Event, EventActions
from ostinato.runners import Runner
from ostinato.sessions import (
    DatabaseSessionService,
    InMemorySessionService,
    SqliteSessionService,
)
from ostinato.testing import ScriptedModel, call
from ostinato.tools import ToolContext
from ostinato.workflow import START, JoinNode, Workflow
from tests.support.optionals import present
from tests.unit.flows.kit import SESSION, Talk
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners

KEY: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s"}
OWNER: dict[str, Any] = {"user_id": "ann", "session_id": "s"}
Make = Callable[[], Any]


@pytest.fixture(params=["memory", "sqlite", "sqlite in memory", "sqlalchemy in memory"])
def service(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    if request.param == "memory":
        return InMemorySessionService()
    if request.param == "sqlalchemy in memory":
        return DatabaseSessionService("sqlite+aiosqlite:///:memory:")
    return SqliteSessionService(tmp_path / "s.db" if request.param == "sqlite" else ":memory:")


async def close(service: Any) -> None:
    """Close a service that holds connections."""
    if not isinstance(service, InMemorySessionService):
        await service.close()


class Relay:
    """Lets tools of two branches write in a chosen order, and their events come in another."""

    def __init__(self) -> None:
        self.older_wrote, self.newer_wrote = asyncio.Event(), asyncio.Event()
        self.newer_stored = asyncio.Event()

    async def write_first(self, tool_context: ToolContext) -> str:
        """Write before the other branch, and return after its event is stored."""
        tool_context.state["n"] = "older"
        tool_context.state["of_first"] = 1
        self.older_wrote.set()
        await self.newer_stored.wait()
        return str(tool_context.state["n"])

    async def write_second(self, tool_context: ToolContext) -> str:
        """Write after the other branch."""
        await self.older_wrote.wait()
        read = str(tool_context.state["n"])
        tool_context.state["n"] = "newer"
        return read


def branch(name: str, tool: Any) -> Agent:
    model = ScriptedModel([call(tool.__name__), "Done."])
    return Agent(name=name, model=model, tools=[tool])


async def run(runner: Runner, relay: Relay) -> dict[str, Any]:
    """Run the branches; return what each tool returned."""
    found: dict[str, Any] = {}
    async for event in runner.run_async(**OWNER, new_message="Go."):
        for response in event.get_function_responses():
            found[response.name or ""] = (response.response or {})["result"]
            if response.name == "write_second":
                relay.newer_stored.set()
    return found


def as_parallel(relay: Relay) -> BaseAgent:
    agents = [branch("one", relay.write_first), branch("two", relay.write_second)]
    return ParallelAgent(name="root", sub_agents=[*agents])


def as_graph(relay: Relay) -> Any:
    one, two = branch("one", relay.write_first), branch("two", relay.write_second)
    joined = JoinNode(name="joined")
    edges = [(START, one), (START, two), (one, joined), (two, joined)]
    return Workflow(name="root", edges=edges)


@pytest.mark.parametrize("make", [as_parallel, as_graph])
async def test_of_two_branches_the_later_write_is_stored(service: Any, make: Any) -> None:
    """Although the event with the earlier write is committed last."""
    await service.create_session(**KEY)
    relay = Relay()
    runner = Runner(agent=make(relay), app_name="app", session_service=service)
    found = await run(runner, relay)
    assert found == {"write_second": "older", "write_first": "newer"}
    session = await service.get_session(**KEY)
    assert session.state == {"n": "newer", "of_first": 1}
    deltas = [event.actions.state_delta for event in session.events if event.actions.state_delta]
    assert deltas == [{"n": "newer"}, {"of_first": 1}]
    await runner.close()
    await close(service)


async def test_branches_that_count_lose_no_update(service: Any) -> None:
    async def count(tool_context: ToolContext) -> int:
        """Count."""
        await asyncio.sleep(0)
        tool_context.state["n"] = number = tool_context.state.get("n", 0) + 1
        return number

    await service.create_session(**KEY)
    agents = [
        Agent(
            name=f"branch_{number}",
            model=ScriptedModel([[call("count"), call("count")], call("count"), "Done."]),
            tools=[count],
        )
        for number in range(4)
    ]
    root = ParallelAgent(name="root", sub_agents=[*agents])
    runner = Runner(agent=root, app_name="app", session_service=service)
    events = [event async for event in runner.run_async(**OWNER, new_message="Go.")]
    numbers = [present(r.response)["result"] for e in events for r in e.get_function_responses()]
    assert sorted(numbers) == list(range(1, 13))
    assert (await service.get_session(**KEY)).state == {"n": 12}
    await runner.close()
    await close(service)


async def test_an_output_key_counts_from_when_it_is_committed(service: Any) -> None:
    await service.create_session(**KEY)
    first = Agent(name="one", model=ScriptedModel(["First."]), output_key="said")
    second = Agent(name="two", model=ScriptedModel(["Second."]), output_key="said")
    root = ParallelAgent(name="root", sub_agents=[first, second])
    runner = Runner(agent=root, app_name="app", session_service=service)
    events = [event async for event in runner.run_async(**OWNER, new_message="Go.")]
    last = next(e for e in reversed(events) if e.content and e.content.parts)
    session = await service.get_session(**KEY)
    assert last.content is not None and last.content.parts is not None
    assert session.state == {"said": last.content.parts[0].text}
    await runner.close()
    await close(service)


async def test_a_write_from_outside_does_not_end_the_run(service: Any) -> None:
    """It came between a tool's write and its response."""

    async def pay(tool_context: ToolContext) -> str:
        """Pay."""
        tool_context.state["paid"] = 5
        other = await service.get_session(**KEY)
        actions = EventActions(state_delta={"paid": 1, "note": "by hand"})
        await service.append_event(other, Event(author="user", actions=actions))
        return "paid"

    await service.create_session(**KEY)
    model = ScriptedModel([call("pay"), "Paid.", "Hello."])
    agent = Agent(name="root", model=model, tools=[pay])
    runner = Runner(agent=agent, app_name="app", session_service=service)
    for text in ("Pay.", "Hi."):
        async for _ in runner.run_async(**OWNER, new_message=text):
            pass
    parts: list[types.Part] = [p for c in model.requests[-1].contents for p in c.parts or ()]
    assert len([p for p in parts if p.function_call]) == 1
    assert len([p for p in parts if p.function_response]) == 1
    session = await service.get_session(**KEY)
    assert session.state == {"paid": 1, "note": "by hand"}  # written last
    await runner.close()
    await close(service)


@pytest.mark.parametrize("is_parallel", [False, True])
async def test_of_a_run_and_an_outsider_the_later_write_is_stored(
    service: Any, is_parallel: bool
) -> None:
    """Although each of the tool's writes is committed after the outsider's."""

    async def pay(tool_context: ToolContext) -> dict[str, Any]:
        """Pay."""
        state = tool_context.state
        state["before"] = state["user:before"] = state["gone"] = "run"
        other = await service.get_session(**KEY)
        delta = {"before": "out", "user:before": "out", "after": "out", "gone": None}
        actions = EventActions(state_delta=delta)
        await service.append_event(other, Event(author="user", actions=actions))
        state["after"] = "run"
        return dict(state.to_dict())

    async def look(tool_context: ToolContext) -> dict[str, Any]:
        """Look."""
        tool_context.state["seen"] = tool_context.state.get("before")
        return dict(tool_context.state.to_dict())

    await service.create_session(**KEY)
    first = [call("pay"), call("idle")] if is_parallel else call("pay")
    model = ScriptedModel([first, call("look"), "Paid."])
    agent = Agent(name="root", model=model, tools=[pay, look, idle])
    runner = Runner(agent=agent, app_name="app", session_service=service)
    events = [event async for event in runner.run_async(**OWNER, new_message="Pay.")]
    session = await service.get_session(**KEY)
    assert session.state == {"before": "out", "user:before": "out", "after": "run", "seen": "out"}
    deltas = [event.actions.state_delta for event in session.events if event.actions.state_delta]
    assert deltas[1:] == [{"after": "run"}, {"seen": "out"}]
    yielded = [event.actions.state_delta for event in events if event.actions.state_delta]
    assert yielded == deltas[1:]
    await runner.close()
    await close(service)


async def test_an_output_key_is_later_than_what_an_outsider_wrote_before(service: Any) -> None:
    """Although a tool wrote the same key earlier, in an event that is stored."""

    async def draft(tool_context: ToolContext) -> None:
        """Draft."""
        tool_context.state["said"] = "Draft."

    async def review() -> None:
        """Review."""
        other = await service.get_session(**KEY)
        actions = EventActions(state_delta={"said": "Reviewed."})
        await service.append_event(other, Event(author="user", actions=actions))

    await service.create_session(**KEY)
    model = ScriptedModel([call("draft"), call("review"), "Final."])
    agent = Agent(name="root", model=model, tools=[draft, review], output_key="said")
    runner = Runner(agent=agent, app_name="app", session_service=service)
    async for _ in runner.run_async(**OWNER, new_message="Write."):
        pass
    assert (await service.get_session(**KEY)).state == {"said": "Final."}
    await runner.close()
    await close(service)


async def test_a_cancelled_commit_counts_when_the_run_is_sealed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer value is stored, and the result with the older one is stored by the seal."""
    service = SqliteSessionService(tmp_path / "s.db")
    await service.create_session(**KEY)
    relay, append = Relay(), service.append
    runner = Runner(agent=as_parallel(relay), app_name="app", session_service=service)

    async def append_then_stop(session: Any, events: Any, *rest: Any, **named: Any) -> Any:
        given = await append(session, events, *rest, **named)
        if any(r.name == "write_second" for e in events for r in e.get_function_responses()):
            task.cancel()
            await asyncio.sleep(0)  # the cancellation arrives within the commit
        return given

    monkeypatch.setattr(service, "append", append_then_stop)

    async def read() -> None:
        async for _ in runner.run_async(**OWNER, new_message="Go."):
            pass

    task = asyncio.create_task(read())
    with pytest.raises(asyncio.CancelledError):
        await task
    session = present(await service.get_session(**KEY))
    assert session.state["n"] == "newer"
    await runner.close()
    await service.close()


def idle() -> None:
    """Do nothing."""


async def test_the_later_write_of_another_process_is_stored(two_owners: list[Owner]) -> None:
    one, two = two_owners

    async def pay(tool_context: ToolContext) -> str:
        """Pay."""
        tool_context.state["before"] = "run"
        key: dict[str, Any] = {
            "app_name": PLACE.app_name,
            "user_id": PLACE.user_id,
            "session_id": SESSION,
        }
        other = await two.service.get_session(**key)
        assert other is not None
        actions = EventActions(state_delta={"before": "out", "after": "out"})
        await two.service.append_event(other, Event(author="user", actions=actions))
        tool_context.state["after"] = "run"
        return "paid"

    def look(tool_context: ToolContext) -> str:
        """Look."""
        tool_context.state["seen"] = tool_context.state["before"]
        return "looked"

    first: Talk = one.talk([call("pay"), call("look"), "Paid."], [pay, look])
    await first.say("Pay.")
    assert await first.state() == {"before": "out", "after": "run", "seen": "out"}
    second: Talk = two.talk(["Hello."])
    await second.say("Hi.")
    assert await second.state() == {"before": "out", "after": "run", "seen": "out"}

"""One message decides calls of several agents: each agent acts on its own calls, once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, ParallelAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.errors import InputValidationError, InvalidAnswerError, LeaseLostError, OstinatoError
from ostinato.events import Event
from ostinato.events.request_input import RequestInput
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool
from ostinato.workflow import START, Workflow
from tests.approvals.kit import NAMES, PLACE, decide, requests


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return InMemorySessionService()
    return SqliteSessionService(str(tmp_path / "sessions.db"))


class Office:
    """A runner over a tree of clerks, each of whom asks before it pays."""

    def __init__(
        self, store: Any, root: Any = None, *, parallel: bool = False, **options: Any
    ) -> None:
        self.paid: list[str] = []
        self.asked_models: list[str] = []
        self.failing = ""
        self.next_agent: dict[str, str] = {}
        self.store = store
        self.runner = Runner(
            app=App(name="desk", root_agent=root or self.tree(parallel), **options),
            session_service=store,
            auto_create_session=True,
        )

    def clerk(self, name: str, *below: BaseAgent) -> LlmAgent:
        """Return an agent that pays once it is told to go, and then speaks."""

        def pay(who: str) -> dict[str, str]:
            """Pay."""
            self.paid.append(who)
            return {"paid": who}

        def reply(request: Any) -> Any:
            self.asked_models.append(name)
            if self.failing == name:
                raise RuntimeError("no model")
            last = request.contents[-1].parts[-1]
            if last.text and last.text.startswith("go "):
                to = last.text.removeprefix("go ")
                pays = to in (name, "all")
                return call("pay", who=name) if pays else call("transfer_to_agent", agent_name=to)
            if last.function_response is not None and last.function_response.name == "pay":
                to = self.next_agent.get(name)
                return call("transfer_to_agent", agent_name=to) if to else f"{name} is done"
            return call("pay", who=name) if name != "root" else "hm"

        return LlmAgent(
            name=name,
            model=FunctionModel(reply),
            tools=[FunctionTool(pay, require_confirmation=True)],
            sub_agents=list(below),
        )

    def tree(self, parallel: bool) -> BaseAgent:
        if parallel:
            return ParallelAgent(name="all", sub_agents=[self.clerk(f"p{n}") for n in (1, 2, 3)])
        return self.clerk("root", self.clerk("kid1"), self.clerk("kid2"))

    async def say(self, message: Any, **options: Any) -> list[Event]:
        run = self.runner.run_async(**PLACE, new_message=message, **options)
        return [event async for event in run]

    async def ask(self, *messages: str) -> list[types.FunctionCall]:
        """Send messages; return the confirmations that are asked for."""
        return [one for message in messages for one in requests(await self.say(message))]

    async def outcomes(self) -> dict[str, Any]:
        """Return the last response to each call of `pay`, by the agent that called."""
        session = await self.store.get_session(**NAMES)
        return {
            event.author: one.response
            for event in session.events
            for one in event.get_function_responses()
            if one.name == "pay"
        }


def join(*messages: types.Content) -> types.Content:
    """Return one message with the parts of several."""
    return types.Content(role="user", parts=[p for one in messages for p in one.parts or ()])


def payer(request: types.FunctionCall) -> str:
    """Return who pays by the call that a request is about."""
    return (request.args or {})["originalFunctionCall"]["args"]["who"]


def settings(resumable: bool) -> dict[str, Any]:
    return {"resumability_config": ResumabilityConfig(is_resumable=True)} if resumable else {}


@pytest.mark.parametrize("resumable", [False, True])
async def test_each_agent_of_a_parallel_agent_acts_on_its_answers(
    store: Any, resumable: bool
) -> None:
    office = Office(store, parallel=True, **settings(resumable))
    asked = await office.ask("go all")
    assert len(asked) == 3
    await office.say(join(decide(asked[2]), decide(asked[0]), decide(asked[1], False)))
    assert sorted(office.paid) == sorted(payer(asked[at]) for at in (0, 2))
    found = await office.outcomes()
    assert sorted("paid" in one for one in found.values()) == [False, True, True]


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("resumable", [False, True])
async def test_agents_of_several_invocations_act_on_their_answers(
    store: Any, resumable: bool, key: str | None
) -> None:
    office = Office(store, **settings(resumable))
    asked = await office.ask("go root", "go kid1", "go kid2")
    message = join(*(decide(one) for one in asked))
    await office.say(message, idempotency_key=key)
    assert office.paid == ["root", "kid1", "kid2"]
    assert await office.outcomes() == {name: {"paid": name} for name in office.paid}
    await office.say("go root")
    assert office.paid == ["root", "kid1", "kid2"]


@pytest.mark.parametrize("resumable", [False, True])
async def test_a_resume_after_all_agents_have_acted_runs_none(store: Any, resumable: bool) -> None:
    office = Office(store, **settings(resumable))
    asked = await office.ask("go root", "go kid1", "go kid2")
    await office.say(join(*(decide(one) for one in asked)))
    office.asked_models.clear()
    session = await store.get_session(**NAMES)
    await office.say(None, invocation_id=session.events[0].invocation_id)
    assert office.asked_models == [] and office.paid == ["root", "kid1", "kid2"]


async def test_an_agent_that_an_earlier_one_transfers_to_acts_once(store: Any) -> None:
    office = Office(store)
    asked = await office.ask("go root", "go kid1", "go kid2")
    office.next_agent["root"] = "kid1"
    office.asked_models.clear()
    await office.say(join(*(decide(one) for one in asked)))
    assert office.paid == ["root", "kid1", "kid2"]
    assert office.asked_models == ["root", "kid1", "kid2"]


async def test_the_others_act_on_their_answers_before_an_error_is_raised(store: Any) -> None:
    office = Office(store)
    asked = await office.ask("go root", "go kid1", "go kid2")
    office.failing = "root"
    with pytest.raises(RuntimeError, match="no model"):
        await office.say(join(*(decide(one) for one in asked)))
    assert office.paid == ["root", "kid1", "kid2"]
    assert await office.outcomes() == {name: {"paid": name} for name in office.paid}
    session = await store.get_session(**NAMES)
    assert session.events[-1].error_code == "RuntimeError"
    office.failing = ""
    office.asked_models.clear()
    await office.say(None, invocation_id=session.events[0].invocation_id)
    assert office.paid == ["root", "kid1", "kid2"]
    assert office.asked_models == [], office.asked_models


@pytest.mark.parametrize("is_parallel", [False, True])
async def test_the_first_of_several_errors_names_the_others(store: Any, is_parallel: bool) -> None:
    office = Office(store, parallel=is_parallel)
    names = ["p1", "p2", "p3"] if is_parallel else ["root", "kid1", "kid2"]
    asked = await office.ask(*(["go all"] if is_parallel else [f"go {name}" for name in names]))
    failing = iter(names)

    def fail(context: Any, **_: Any) -> None:
        if context.agent_name != names[1]:
            raise RuntimeError(f"{next(failing)} failed")
        next(failing)

    for name in names:
        agent = office.runner.agent.root_agent.find_agent(name)
        assert isinstance(agent, LlmAgent)
        agent.before_model_callback = lambda callback_context, llm_request: fail(callback_context)
    with pytest.raises(RuntimeError, match=f"{names[0]} failed") as raised:
        await office.say(join(*(decide(one) for one in asked)))
    assert office.paid == names
    if not is_parallel:
        assert raised.value.__notes__[-1].endswith(f"{names[2]} failed")


async def test_a_submitted_message_of_answers_runs_each_agent(tmp_path: Path) -> None:
    office = Office(SqliteSessionService(str(tmp_path / "sessions.db")))
    asked = await office.ask("go root", "go kid1", "go kid2")
    await office.runner.submit(**PLACE, new_message=join(*(decide(one) for one in asked)))
    await office.runner.resume_open()
    assert office.paid == ["root", "kid1", "kid2"]
    await office.runner.close()


class BeforeTool(BasePlugin):
    """Holds the calls of one agent back."""

    def __init__(self, agent: str) -> None:
        super().__init__(name="before")
        self.agent, self.reached = agent, asyncio.Event()

    async def before_tool_callback(self, *, tool_context: Any, **_: Any) -> None:
        if tool_context.agent_name == self.agent:
            self.reached.set()
            await asyncio.sleep(60)


@pytest.mark.parametrize("resumable", [False, True])
async def test_the_next_owner_runs_the_agents_that_have_not_acted(
    tmp_path: Path, resumable: bool
) -> None:
    path, plugin = str(tmp_path / "sessions.db"), BeforeTool("kid1")
    office = Office(SqliteSessionService(path), **settings(resumable))
    asked = await office.ask("go root", "go kid1", "go kid2")
    office.runner.plugin_manager.register_plugin(plugin)
    message = join(*(decide(one) for one in asked))
    run = office.runner.start(**PLACE, new_message=message)
    await plugin.reached.wait()
    await run.hand_over()
    with pytest.raises(LeaseLostError):
        await run.result()
    assert office.paid == ["root"]
    other = Office(SqliteSessionService(path), **settings(resumable))
    assert [one.outcome for one in await other.runner.resume_open()] == ["finished"]
    assert other.paid == other.asked_models == ["kid1", "kid2"]
    for one in (office, other):
        await one.runner.close()


async def test_a_cancel_closes_the_calls_of_agents_that_have_not_acted(store: Any) -> None:
    office, plugin = Office(store), BeforeTool("kid1")
    asked = await office.ask("go root", "go kid1", "go kid2")
    office.runner.plugin_manager.register_plugin(plugin)
    run = office.runner.start(**PLACE, new_message=join(*(decide(one) for one in asked)))
    await plugin.reached.wait()
    await run.cancel()
    with pytest.raises(OstinatoError):
        await run.result()
    found = await office.outcomes()
    assert office.paid == ["root"] and found["root"] == {"paid": "root"}
    assert all("did not run" in found[name]["error"] for name in ("kid1", "kid2"))


@pytest.mark.parametrize("door", ["run", "submit"])
async def test_answers_to_graphs_of_several_invocations_are_refused(
    tmp_path: Path, door: str
) -> None:
    def question(node_input: str) -> RequestInput:
        return RequestInput(message="How much?", response_schema=int)

    seen: list[int] = []

    def act(node_input: int) -> None:
        seen.append(node_input)

    office = Office(
        SqliteSessionService(str(tmp_path / "sessions.db")),
        Workflow(name="desk", edges=[(START, question, act)]),
    )
    calls: list[types.FunctionCall] = []
    for text in ("one", "two"):
        calls += [c for event in await office.say(text) for c in event.get_function_calls()]
    answers = [
        types.FunctionResponse(id=one.id, name=one.name, response={"result": number})
        for number, one in enumerate(calls)
    ]
    both = types.Content(role="user", parts=[types.Part(function_response=a) for a in answers])
    with pytest.raises(InvalidAnswerError, match="message of its own"):
        if door == "submit":
            await office.runner.submit(**PLACE, new_message=both)
        else:
            await office.say(both)
    first = types.Content(role="user", parts=(both.parts or [])[:1])
    with pytest.raises(InputValidationError, match="without an idempotency key"):
        if door == "submit":
            await office.runner.submit(**PLACE, new_message=first, idempotency_key="k")
        else:
            await office.say(first, idempotency_key="k")
    for part in both.parts or ():
        await office.say(types.Content(role="user", parts=[part]))
    assert seen == [0, 1]
    await office.runner.close()

"""A plugin changes calls in their events: a person is asked about what runs after the answer."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent, ParallelAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.context.node import BaseNode
from ostinato.events import Event
from ostinato.events.pending import EDITED_CALLS
from ostinato.plugins import BasePlugin
from ostinato.runners import Runner
from ostinato.sessions.log.call_requests import read_question
from ostinato.testing import ScriptedModel, call
from ostinato.tools import AgentTool, FunctionTool, ToolContext
from ostinato.tools.policy import Policy, Rule
from ostinato.workflow import START, Workflow
from ostinato.workflow.node_errors import ToolNotRunError
from tests.unit.durable.crash import WHO, DyingStore, Killed
from tests.unit.flows.kit import Store, Talk, answer_to
from tests.unit.workflow.kit import gives

SCRIPT = [call("pay", amount=1), "done"]


class Edits(BasePlugin):
    """Raises each amount of 1, in calls and outputs, to 999."""

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        changed = event.model_copy(deep=True)
        if event.output == {"amount": 1}:
            changed.output = {"amount": 999}
        for one in changed.get_function_calls():
            if one.args == {"amount": 1}:
                one.args = {"amount": 999}
        return changed


class Bank:
    def __init__(self) -> None:
        self.paid: list[int] = []

    def tool(self, **options: Any) -> FunctionTool:
        def pay(amount: int) -> str:
            self.paid.append(amount)
            return "paid"

        return FunctionTool(pay, **options)


def edited_app(root: BaseNode, *, resumable: bool = True, **options: Any) -> App:
    return App(
        name="talk",
        root_agent=root,
        plugins=[Edits(name="edits")],
        resumability_config=ResumabilityConfig(is_resumable=resumable),
        **options,
    )


def requests_in(events: list[Event]) -> list[Any]:
    return [
        one for event in events for one in event.get_function_calls() if "request" in str(one.name)
    ]


def shown_in(request: Any) -> Any:
    return request.args["originalFunctionCall"]["args"]


@pytest.mark.parametrize("resumable", [True, False])
async def test_a_person_sees_the_recorded_call_that_runs(store: Store, resumable: bool) -> None:
    bank = Bank()
    tool = bank.tool(require_confirmation=True)
    agent = LlmAgent(name="clerk", model=ScriptedModel(SCRIPT), tools=[tool])
    talk = Talk(edited_app(agent, resumable=resumable), store)
    (request,) = requests_in(await talk.say())
    assert shown_in(request) == {"amount": 999}
    (row,) = (await store.service.open_requests("talk")).requests
    asked, tools_call = read_question(row.request)
    assert shown_in(asked) == (tools_call and tools_call.args) == {"amount": 999}
    await talk.say(answer_to(request, {"confirmed": True}))
    assert bank.paid == [999]


async def test_the_arguments_that_a_person_edits_run(memory: Store) -> None:
    bank = Bank()
    tool = bank.tool(require_confirmation=True)
    agent = LlmAgent(name="clerk", model=ScriptedModel(SCRIPT), tools=[tool])
    talk = Talk(edited_app(agent), memory)
    (request,) = requests_in(await talk.say())
    await talk.say(answer_to(request, {"confirmed": True, "args": {"amount": 7}}))
    assert bank.paid == [7]


async def test_a_policy_asks_once_about_the_recorded_call(store: Store) -> None:
    bank = Bank()
    agent = LlmAgent(name="clerk", model=ScriptedModel(SCRIPT), tools=[bank.tool()])
    policy = Policy(rules=[Rule(id="r", verdict="ask", tool="pay")])
    talk = Talk(edited_app(agent, policy=policy), store)
    (request,) = requests_in(await talk.say())
    assert shown_in(request) == {"amount": 999}
    assert not requests_in(await talk.say(answer_to(request, {"confirmed": True})))
    assert bank.paid == [999]


async def test_parallel_branches_and_called_agents_ask_alike(memory: Store) -> None:
    bank = Bank()
    tool = bank.tool(require_confirmation=True)
    agents = [LlmAgent(name=n, model=ScriptedModel(SCRIPT), tools=[tool]) for n in ("a", "b", "c")]
    caller = LlmAgent(
        name="caller",
        model=ScriptedModel([call("c", request="Pay"), "done"]),
        tools=[AgentTool(agents.pop())],
    )
    root = ParallelAgent(name="root", sub_agents=[*agents, caller])
    talk = Talk(edited_app(root), memory)
    requests = requests_in(await talk.say())
    assert [shown_in(one) for one in requests if one.name == "adk_request_confirmation"] == [
        {"amount": 999}
    ] * len(requests)
    assert len(requests) >= 2


class Renames(BasePlugin):
    """Gives each call another id."""

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        changed = event.model_copy(deep=True)
        for one in changed.get_function_calls():
            one.id = f"mine-{one.id}"
        return changed


@pytest.mark.parametrize("asks", [True, False])
async def test_a_call_keeps_its_id(store: Store, asks: bool) -> None:
    bank = Bank()
    tool = bank.tool(require_confirmation=asks)
    agent = LlmAgent(name="clerk", model=ScriptedModel(SCRIPT), tools=[tool])
    app = App(name="talk", root_agent=agent, plugins=[Renames(name="renames")])
    talk = Talk(app, store)
    events = await talk.say()
    if asks:
        await talk.say(answer_to(requests_in(events)[0], {"confirmed": True}))
    assert bank.paid == [1]
    stored = await talk.stored()
    calls = {one.id for event in stored for one in event.get_function_calls()}
    assert {one.id for event in stored for one in event.get_function_responses()} == calls


async def test_without_an_approval_the_models_call_runs(memory: Store) -> None:
    bank = Bank()
    agent = LlmAgent(name="clerk", model=ScriptedModel(SCRIPT), tools=[bank.tool()])
    events = await Talk(edited_app(agent), memory).say()
    assert bank.paid == [1]
    (event,) = [one for one in events if one.get_function_calls()]
    (one,) = event.get_function_calls()
    assert (event.custom_metadata or {})[EDITED_CALLS] == [one.id]


async def test_a_node_asks_again_if_the_log_has_other_arguments(memory: Store) -> None:
    bank = Bank()
    tool = bank.tool(require_confirmation=True)
    flow = Workflow(name="flow", edges=[(START, gives("first", {"amount": 1}), tool)])
    talk = Talk(edited_app(flow), memory)
    (first,) = requests_in(await talk.say())
    assert first.args["payload"]["args"] == {"amount": 1}
    (second,) = requests_in(await talk.say(answer_to(first, {"result": True})))
    assert second.args["payload"]["args"] == {"amount": 999}
    assert not bank.paid
    await talk.say(answer_to(second, {"result": True}))
    assert bank.paid == [999]


async def test_a_node_whose_question_never_shows_its_arguments_does_not_run(memory: Store) -> None:
    bank = Bank()
    tool = bank.tool(require_confirmation=True)
    flow = Workflow(name="flow", edges=[(START, gives("first", {"amount": 5}), tool)])

    class Masks(BasePlugin):
        async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event:
            changed = event.model_copy(deep=True)
            for one in changed.get_function_calls():
                one.args = {**(one.args or {}), "payload": {"tool": "pay", "args": {}}}
            return changed

    app = App(name="talk", root_agent=flow, plugins=[Masks(name="masks")])
    talk = Talk(app, memory)
    events = await talk.say()
    for _ in range(4):
        events = await talk.say(answer_to(requests_in(events)[0], {"result": True}))
    error = await talk.fails(answer_to(requests_in(events)[0], {"result": True}))
    assert isinstance(error, ToolNotRunError)
    assert not bank.paid


@pytest.mark.parametrize("edits", [True, False])
async def test_a_call_in_doubt_does_not_run_with_other_arguments(
    tmp_path: Path, edits: bool
) -> None:
    runs: list[tuple[int, str]] = []

    async def run_process(store: DyingStore, script: list[Any]) -> None:
        async def pay(amount: int, tool_context: ToolContext) -> str:
            runs.append((amount, tool_context.idempotency_key))
            if len(runs) == 1:
                store.dead = True
                raise Killed
            return "paid"

        agent = LlmAgent(name="clerk", model=ScriptedModel(script), tools=[pay])
        app = edited_app(agent) if edits else App(name="talk", root_agent=agent)
        runner = Runner(app=app, session_service=store, auto_create_session=True)
        if script is SCRIPT:
            with pytest.raises(Killed):
                async for _ in runner.run_async(**WHO, new_message="Go"):
                    pass
        else:
            await runner.resume_open()
            await runner.close()
        await store.close()

    await run_process(DyingStore(tmp_path / "s.db"), SCRIPT)
    with closing(sqlite3.connect(tmp_path / "s.db")) as db, db:
        db.execute("UPDATE ostinato_lease SET expires = 0")
    again = DyingStore(tmp_path / "s.db")
    await run_process(again, ["done"])
    assert [amount for amount, _ in runs] == ([1] if edits else [1, 1])
    reader = DyingStore(tmp_path / "s.db")
    session = await reader.get_session(app_name="talk", **WHO)
    await reader.close()
    assert session is not None
    texts = [json.dumps(r.response) for e in session.events for r in e.get_function_responses()]
    assert ("unknown whether the call took effect" in texts[0]) is edits

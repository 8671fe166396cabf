"""What a message holds beside its answers: who reads it among the agents of a workflow's graph, and
among several called agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.events import RequestInput
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.workflow import START, JoinNode, Workflow
from tests.approvals.kit import PLACE, decide


def pay(amount: int) -> dict[str, int]:
    """Pay."""
    return {"paid": amount}


def count(node_input: Any) -> RequestInput:
    return RequestInput(message="How many?", response_schema=int)


def agent(name: str, mode: Any, *replies: Any, **fields: Any) -> LlmAgent:
    tools: list[Any] = [FunctionTool(pay, require_confirmation=True)]
    return LlmAgent(
        name=name,
        mode=mode,
        description=name,
        model=ScriptedModel(list(replies)),
        tools=tools,
        **fields,
    )


def payer(name: str, mode: Any) -> LlmAgent:
    """An agent that asks for an approval, and speaks after it."""
    return agent(name, mode, call("pay", amount=1), "Paid.", "Later.", "Later.")


def asker(name: str = "asker") -> LlmAgent:
    """An agent that asks the user for something in its task."""
    return agent(name, "task", "What size?", "Which colour?", "Later.", "Later.")


def seen(one: LlmAgent, index: int = -1) -> list[Any]:
    """Return the texts, calls and responses of one of an agent's requests."""
    assert isinstance(one.model, ScriptedModel)
    return [
        part.text
        or (part.function_call and part.function_call.name)
        or (part.function_response and part.function_response.response)
        for content in one.model.requests[index].contents
        for part in content.parts or ()
    ]


def asked(one: LlmAgent) -> int:
    assert isinstance(one.model, ScriptedModel)
    return len(one.model.requests)


class Shop:
    """An app with one session, run by a new runner for each message."""

    def __init__(self, service: Any, root: Any, resumable: bool) -> None:
        self.service, self.root = service, root
        self.config = ResumabilityConfig(is_resumable=resumable)
        self.open: dict[str, types.FunctionCall] = {}

    def runner(self) -> Runner:
        app = App(name="desk", root_agent=self.root, resumability_config=self.config)
        return Runner(app=app, session_service=self.service, auto_create_session=True)

    async def say(self, message: Any) -> list[Any]:
        events = [e async for e in self.runner().run_async(**PLACE, new_message=message)]
        for event in events:
            for one in event.get_function_calls():
                if one.id in (event.long_running_tool_ids or ()):
                    self.open[one.id or ""] = one
        return events

    async def answer(self, *words: str) -> list[Any]:
        """Answer all that is open, with words beside it."""
        given: list[types.Part] = [types.Part(text=text) for text in words]
        for one in self.open.values():
            if one.name == "adk_request_confirmation":
                given += decide(one).parts or ()
            else:
                number = types.FunctionResponse(id=one.id, name=one.name, response={"result": 5})
                given.append(types.Part(function_response=number))
        self.open = {}
        return await self.say(types.Content(role="user", parts=given))


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return InMemorySessionService()
    return SqliteSessionService(str(tmp_path / "sessions.db"))


@pytest.fixture(params=[False, True], ids=["plain", "resumable"])
def resumable(request: Any) -> bool:
    return request.param


def graph(*steps: Any) -> Workflow:
    return Workflow(name="flow", edges=[(START, *steps)])


@pytest.mark.parametrize("mode", ["single_turn", "task", "chat"])
async def test_the_agent_of_the_request_reads_the_words(
    store: Any, resumable: bool, mode: Any
) -> None:
    one = payer("one", mode)
    shop = Shop(store, graph(one), resumable)
    await shop.say("start")
    await shop.answer("large")
    assert seen(one)[-3:] == ["pay", {"paid": 1}, "large"]


async def test_later_requests_of_the_agent_hold_the_words(store: Any, resumable: bool) -> None:
    one = agent("one", "single_turn", *[call("pay", amount=n) for n in (1, 2)], "Paid.")
    shop = Shop(store, graph(one), resumable)
    await shop.say("start")
    await shop.answer("large")
    await shop.answer("and blue")
    paid = [{"paid": 1}, "large", "pay", {"paid": 2}, "and blue"]
    assert seen(one) == ["start", "pay", *paid]


@pytest.mark.parametrize("mode", ["single_turn", "task", "chat"])
async def test_a_waiting_task_beside_the_request_reads_the_words(
    store: Any, resumable: bool, mode: Any
) -> None:
    one, task = payer("one", mode), asker()
    shop = Shop(store, graph((one, task)), resumable)
    await shop.say("start")
    await shop.answer("large")
    assert seen(one)[-3:] == ["pay", {"paid": 1}, "large"]
    assert seen(task) == ["start", "What size?", "large"]
    if mode == "single_turn":
        await shop.say("blue")
        assert seen(task) == ["start", "What size?", "large", "Which colour?", "blue"]
        assert asked(one) == 2


async def test_only_the_oldest_waiting_task_reads_the_words(store: Any, resumable: bool) -> None:
    one, tasks = payer("one", "single_turn"), [asker("left"), asker("right")]
    shop = Shop(store, graph((one, *tasks)), resumable)
    said = await shop.say("start")
    spoken = [event.author for event in said if event.author in ("left", "right")]
    await shop.answer("large")
    assert {task.name: asked(task) for task in tasks} == {spoken[0]: 2, spoken[1]: 1}


async def test_an_answer_without_words_asks_no_waiting_task(store: Any, resumable: bool) -> None:
    one, task = payer("one", "single_turn"), asker()
    shop = Shop(store, graph((one, task)), resumable)
    await shop.say("start")
    await shop.answer()
    assert (asked(one), asked(task)) == (2, 1)
    await shop.say("large")
    assert seen(task) == ["start", "What size?", "large"]


async def test_a_task_beside_a_question_reads_the_words(store: Any, resumable: bool) -> None:
    task = asker()
    shop = Shop(store, graph((count, task)), resumable)
    await shop.say("start")
    await shop.answer("large")
    assert seen(task) == ["start", "What size?", "large"]


async def test_a_task_that_an_agent_of_the_graph_gave_reads_the_words(
    store: Any, resumable: bool
) -> None:
    one, task = payer("one", "single_turn"), asker()
    giver = LlmAgent(
        name="giver",
        model=ScriptedModel([call("asker", request="ask"), "Given."]),
        sub_agents=[task],
    )
    shop = Shop(store, graph((one, giver)), resumable)
    await shop.say("start")
    await shop.answer("large")
    assert seen(one)[-1] == "large"
    assert seen(task) == ['{"request": "ask"}', "What size?", "large"]
    await shop.say("blue")
    assert seen(task)[-3:] == ["large", "Which colour?", "blue"]
    assert asked(giver) == 1


async def test_all_agents_of_the_requests_read_the_words(store: Any, resumable: bool) -> None:
    one, two, task = payer("one", "single_turn"), payer("two", "task"), asker()
    shop = Shop(store, graph((one, two, task)), resumable)
    await shop.say("start")
    await shop.answer("large")
    for paying in (one, two):
        assert seen(paying) == ["start", "pay", {"paid": 1}, "large"]
    assert seen(task) == ["start", "What size?", "large"]


async def test_an_agent_without_a_request_does_not_read_the_words(
    store: Any, resumable: bool
) -> None:
    one, two = payer("one", "single_turn"), payer("two", "single_turn")
    shop = Shop(store, graph((one, two), JoinNode(name="join")), resumable)
    await shop.say("start")
    first, *_ = shop.open
    rest = {call_id: one for call_id, one in shop.open.items() if call_id != first}
    shop.open = {first: shop.open[first]}
    await shop.answer("large")
    shop.open = rest
    await shop.answer("small")
    assert [seen(one)[-1], seen(two)[-1]] in (["large", "small"], ["small", "large"])
    assert not any("large" in seen(each) and "small" in seen(each) for each in (one, two))


@pytest.mark.parametrize(("mode", "reads"), [("chat", True), ("single_turn", False)])
async def test_after_a_question_agents_that_read_the_conversation_read_the_words(
    store: Any, resumable: bool, mode: Any, reads: bool
) -> None:
    after = agent("after", mode, "Counted.")
    shop = Shop(store, graph(count, after), resumable)
    await shop.say("start")
    await shop.answer("large")
    if reads:
        assert "[user] said: large" in seen(after)
    else:  # it sees its input only, as at the first message
        assert seen(after) == ["5"]


@pytest.mark.parametrize("second", ["single_turn", "task"])
async def test_several_called_agents_read_the_words(
    store: Any, resumable: bool, second: Any
) -> None:
    one, two = payer("one", "single_turn"), payer("two", second)
    calls = [call("one", request="a"), call("two", request="b")]
    root = LlmAgent(name="root", model=ScriptedModel([calls, "R", "R"]), sub_agents=[one, two])
    shop = Shop(store, root, resumable)
    await shop.say("start")
    if len(shop.open) == 1:  # a task begins after the tools beside it
        await shop.answer("large")
        assert seen(one)[-1] == "large"
        return
    await shop.answer("large")
    assert seen(one) == ["a", "pay", {"paid": 1}, "large"]
    assert seen(two) == ["b", "pay", {"paid": 1}, "large"]


async def test_a_task_waits_for_its_approval_whatever_the_user_says(
    store: Any, resumable: bool
) -> None:
    end = call("finish_task", result="Done.")
    task = agent("task", "task", call("pay", amount=3), end)
    root = LlmAgent(
        name="root", model=ScriptedModel([call("task", request="do"), "R"]), sub_agents=[task]
    )
    shop = Shop(store, root, resumable)
    await shop.say("start")
    await shop.say("hurry")
    await shop.say("please")
    assert (asked(task), asked(root)) == (1, 1)
    await shop.answer()
    assert asked(root) == 2
    assert seen(task) == ['{"request": "do"}', "pay", {"paid": 3}]


async def test_a_task_waits_for_the_approval_of_an_agent_that_it_called(
    store: Any, resumable: bool
) -> None:
    inner = payer("inner", "single_turn")
    task = agent("task", "task", call("inner", request="pay"), call("finish_task", result="Done."))
    task.sub_agents = [inner]
    root = LlmAgent(
        name="root", model=ScriptedModel([call("task", request="do"), "R"]), sub_agents=[task]
    )
    shop = Shop(store, root, resumable)
    await shop.say("start")
    await shop.say("hurry")
    assert (asked(inner), asked(task), asked(root)) == (1, 1, 1)
    await shop.answer()
    assert (asked(inner), asked(task), asked(root)) == (2, 2, 2)
    assert seen(task)[-1] == {"result": "Paid."}


async def test_a_task_does_not_wait_for_a_request_that_was_rewound(
    store: Any,
) -> None:
    task = agent("task", "task", "What size?", call("pay", amount=3), "Which colour?")
    root = LlmAgent(
        name="root", model=ScriptedModel([call("task", request="do"), "R"]), sub_agents=[task]
    )
    shop = Shop(store, root, resumable=False)
    await shop.say("start")
    asking = await shop.say("large")
    await shop.runner().rewind_async(**PLACE, rewind_before_invocation_id=asking[-1].invocation_id)
    await shop.say("small")
    assert seen(task) == ['{"request": "do"}', "What size?", "small"]

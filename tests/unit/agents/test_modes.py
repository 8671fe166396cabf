"""Agents that are called: tasks that talk with the user, agents that run once, what each sees."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.agents import LlmAgent, SequentialAgent
from ostinato.apps import ResumabilityConfig
from ostinato.errors import AgentConfigError, ModelRetriesExceededError
from ostinato.events import Event
from ostinato.runners import InMemoryRunner
from ostinato.testing import FunctionModel, ScriptedModel, call, final_text
from ostinato.tools import FunctionTool
from ostinato.tools.agent_tool import AgentTool
from tests.support.optionals import present
from tests.unit.flows.kit import SESSION, USER, Store, Talk, responses, unanswered

CONFIRM = "adk_request_confirmation"


class Report(BaseModel):
    summary: str
    sources: int


def agent(name: str, *replies: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(list(replies)), **fields)


def task(name: str, *replies: Any, **fields: Any) -> LlmAgent:
    return agent(name, *replies, mode="task", **fields)


def once(name: str, *replies: Any, **fields: Any) -> LlmAgent:
    return agent(name, *replies, mode="single_turn", **fields)


def done(result: Any = "Done.") -> Any:
    return call("finish_task", result=result)


def model_of(one: LlmAgent) -> ScriptedModel:
    assert isinstance(one.model, ScriptedModel)
    return one.model


def asked(events: list[Event], name: str) -> types.FunctionCall:
    found = [c for e in events for c in e.get_function_calls() if c.name == name]
    return found[-1]


def authors(events: list[Event]) -> list[str]:
    return [event.author for event in events]


@pytest.mark.spec(68)
def test_a_root_that_says_nothing_becomes_a_chat_agent_and_so_does_a_child() -> None:
    child, root = agent("child"), agent("root")
    parent = agent("parent", sub_agents=[child])
    assert (child.mode, parent.mode) == ("chat", None)
    InMemoryRunner(root)
    assert root.mode == "chat"
    InMemoryRunner(SequentialAgent(name="line", sub_agents=[agent("step")]))


@pytest.mark.spec(68)
@pytest.mark.parametrize("mode", ["task", "single_turn"])
def test_a_root_that_others_would_call_is_refused(mode: Any) -> None:
    with pytest.raises(AgentConfigError, match=f"'root'.*'{mode}'.*mode='chat'"):
        InMemoryRunner(agent("root", mode=mode))


@pytest.mark.spec(69, 70, 72)
async def test_a_task_talks_with_the_user_over_restarts_until_it_is_done(store: Store) -> None:
    work = task("work", "Which?", "Sure?", done("This."))
    root = agent("root", call("work", request="Find it"), "Found.", "Bye.", sub_agents=[work])
    for message, said in (("Go", "Which?"), ("This", "Sure?"), ("Yes", "Found."), ("Bye", "Bye.")):
        talk = Talk(root, store)  # a runner of its own each time: the log tells all
        assert final_text(await talk.say(message)) == said
    assert model_of(work).requests[2].texts == [
        '{"request": "Find it"}', "Which?", "This", "Sure?", "Yes",
    ]  # fmt: skip
    assert model_of(root).requests[-1].texts == ["Go", "Found.", "Bye"]
    assert unanswered(await talk.stored()) == []


@pytest.mark.spec(70)
async def test_a_task_that_an_earlier_invocation_gave_is_done_first(store: Store) -> None:
    call_id, work = "t1", task("work", "Which?", done("This."))
    root = agent("root", "Found.", sub_agents=[work])
    given = types.FunctionCall(id=call_id, name="work", args={"request": "Find it"})
    left = [
        Event(author="user", content=types.Content(role="user", parts=[types.Part(text="Go")])),
        Event(
            author="root",
            content=types.Content(role="model", parts=[types.Part(function_call=given)]),
        ),
    ]
    session = await store.service.create_session(app_name="talk", user_id=USER, session_id=SESSION)
    for event in left:  # by a program that ended before it began the task
        event.invocation_id = "earlier"
        await store.service.append_event(session, event)

    talk = Talk(root, store)
    assert final_text(await talk.say("Well?")) == "Which?" and model_of(root).requests == []
    events = await Talk(root, store).say("This")
    assert final_text(events) == "Found."
    assert model_of(work).requests[-1].texts == ['{"request": "Find it"}', "Which?", "This"]
    assert responses(events)[-1] == {"result": "This."}
    assert unanswered(await talk.stored()) == []


@pytest.mark.spec(70, 73)
async def test_the_answer_to_a_task_is_what_it_was_finished_with(memory: Store) -> None:
    work = task(
        "work", call("finish_task", summary="Wet."), call("finish_task", summary="Wet.", sources=2),
        output_schema=Report, output_key="report",
    )  # fmt: skip
    talk = Talk(agent("root", call("work", request="x"), "Over.", sub_agents=[work]), memory)
    events = await talk.say()
    refused, finished, answered = responses(events)
    assert "sources" in refused["error"]
    assert finished == {"result": "Task completed."}
    assert answered == {"summary": "Wet.", "sources": 2}
    assert (await talk.state())["report"] == answered
    assert [e.author for e in events if e.get_function_responses()] == ["work", "work", "user"]


@pytest.mark.spec(70)
async def test_a_task_that_cannot_begin_is_told_to_the_model_and_not_for_ever(
    memory: Store,
) -> None:
    work = task("work", input_schema=Report)
    wrong = [call("work", summary="Wet.")] * 9
    talk = Talk(agent("root", *wrong, sub_agents=[work]), memory)
    error = await talk.fails()
    assert isinstance(error, ModelRetriesExceededError)
    assert "'root'" in str(error) and "'work'" in str(error) and "sources" in str(error)
    assert model_of(work).requests == []


@pytest.mark.spec(70, 72)
async def test_tasks_within_tasks(store: Store) -> None:
    inner = task("inner", "Inner?", done("I"))
    outer = task("outer", call("inner", request="i"), "Outer?", done("O"), sub_agents=[inner])
    root = agent("root", call("outer", request="o"), "Over.", sub_agents=[outer])
    said = [final_text(await Talk(root, store).say(text)) for text in ("Go", "one", "two")]
    assert said == ["Inner?", "Outer?", "Over."]
    assert model_of(inner).requests[-1].texts == ['{"request": "i"}', "Inner?", "one"]
    assert model_of(outer).requests[-1].texts == ['{"request": "o"}', "Outer?", "two"]


@pytest.mark.spec(70, 72)
async def test_tools_beside_a_task_run_first(memory: Store) -> None:
    def look(what: str) -> str:
        return f"saw {what}"

    work = task("work", "Which?", done())
    calls = [call("work", request="x"), call("look", what="a")]
    root = agent("root", calls, "Over.", sub_agents=[work], tools=[look])
    talk = Talk(root, memory)
    assert authors(await talk.say()) == ["root", "root", "work"]
    assert final_text(await talk.say("That")) == "Over."
    assert unanswered(await talk.stored()) == []


@pytest.mark.spec(70)
async def test_what_stands_beside_the_end_of_a_task_is_answered(memory: Store) -> None:
    inner = task("inner")
    work = task("work", [done(), call("inner", request="i")], sub_agents=[inner])
    talk = Talk(agent("root", call("work", request="x"), "Over.", sub_agents=[work]), memory)
    assert final_text(await talk.say()) == "Over."
    assert unanswered(await talk.stored()) == []
    assert model_of(inner).requests == []


@pytest.mark.spec(70, 145)
async def test_a_tool_of_a_task_asks_the_user_for_leave(store: Store) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    tools = [FunctionTool(pay, require_confirmation=True)]
    work = task("work", call("pay", amount=3), "Paid. More?", done(), tools=tools)
    talk = Talk(agent("root", call("work", request="x"), "Over.", sub_agents=[work]), store)
    confirm = asked(await talk.say(), CONFIRM)
    assert final_text(await talk.answer(confirm, {"confirmed": True})) == "Paid. More?"
    assert final_text(await talk.say("No")) == "Over."
    assert paid == [3]


@pytest.mark.spec(71, 145)
@pytest.mark.parametrize("resumable", [False, True])
async def test_an_agent_that_runs_once_waits_for_the_user_s_leave(
    store: Store, resumable: bool
) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    tools = [FunctionTool(pay, require_confirmation=True)]
    work = once("work", call("pay", amount=3), "It is paid.", tools=tools)
    root = agent("root", call("work", request="x"), "Over.", sub_agents=[work])
    config = ResumabilityConfig(is_resumable=resumable)
    talk = Talk(root, store, resumability_config=config)
    confirm = asked(await talk.say(), CONFIRM)
    assert len(model_of(root).requests) == 1
    events = await talk.answer(confirm, {"confirmed": True})
    assert final_text(events) == "Over."
    assert responses(events) == [{"result": "paid"}, {"result": "It is paid."}]
    assert paid == [3]
    await talk.check_sound()


@pytest.mark.spec(71, 72)
async def test_calls_of_one_agent_at_a_time_see_nothing_of_each_other(store: Store) -> None:
    def look(what: str) -> str:
        return f"saw {what}"

    def asks_first(request: Any) -> Any:
        return call("look", what=request.contents[0].parts[0].text)

    def tells(request: Any) -> Any:
        return " ".join(p.text for c in request.contents for p in c.parts if p.text)

    def reply(request: Any) -> Any:
        return asks_first(request) if len(request.contents) == 1 else tells(request)

    work = LlmAgent(name="work", model=FunctionModel(reply), mode="single_turn", tools=[look])
    calls = [call("work", request="a"), call("work", request="b")]
    talk = Talk(agent("root", calls, "Over.", sub_agents=[work]), store)
    events = await talk.say()
    assert sorted(str(r) for r in responses(events)[-2:]) == [
        "{'result': 'a'}", "{'result': 'b'}",
    ]  # fmt: skip
    assert len({e.isolation_scope for e in events if e.author == "work"}) == 2
    await talk.check_sound()


@pytest.mark.spec(69, 71, 72)
async def test_what_an_agent_did_that_ran_once_is_in_its_answer_only(memory: Store) -> None:
    work = once("work", "Formed.", instruction="Form it.")
    root = agent("root", call("work", request="it"), "Over.", "Again.", sub_agents=[work])
    talk = Talk(root, memory)
    await talk.say("Form it")
    await talk.say("Again")
    assert model_of(root).requests[-1].texts == ["Form it", "Over.", "Again"]
    assert model_of(work).requests[0].texts == ["it"]


@pytest.mark.spec(69)
async def test_a_called_agent_is_no_target_of_transfers(memory: Store) -> None:
    work, chat = task("work"), agent("chat", "Hi.")
    to_work = call("transfer_to_agent", agent_name="work")
    root = agent("root", to_work, "Sorry.", sub_agents=[work, chat])
    talk = Talk(root, memory)
    await talk.say("Go")
    offered, told = model_of(root).requests
    (answer,) = told.function_responses
    error = present(answer.response)["error"]
    assert "'work'" in error and "chat" in error
    names = [
        d.name or "" for t in offered.config.tools or [] for d in t.function_declarations or []
    ]
    assert sorted(names) == ["transfer_to_agent", "work"]


@pytest.mark.spec(70)
async def test_an_error_leaves_the_task_open_and_the_next_message_goes_to_it(store: Store) -> None:
    def fail() -> str:
        raise RuntimeError("broken")

    work = task("work", call("fail"), done(), tools=[fail])
    talk = Talk(agent("root", call("work", request="x"), "Over.", sub_agents=[work]), store)
    assert "broken" in str(await talk.fails())
    assert unanswered(await talk.stored()) == ["work"]
    assert final_text(await talk.say("Again")) == "Over."
    assert model_of(work).requests[-1].texts == ['{"request": "x"}', "Again"]
    await talk.check_sound()


@pytest.mark.spec(70)
@pytest.mark.parametrize("resumable", [False, True])
async def test_a_task_below_a_shell_stops_the_shell(store: Store, resumable: bool) -> None:
    work = task("work", "Which?", "Sure?", done())
    first = agent("first", call("work", request="x"), "Over.", sub_agents=[work])
    last = agent("last", "The end.")
    line = SequentialAgent(name="line", sub_agents=[first, last])
    config = ResumabilityConfig(is_resumable=resumable)
    talk = Talk(line, store, resumability_config=config)
    assert final_text(await talk.say()) == "Which?"
    assert final_text(await talk.say("That")) == "Sure?"
    # What comes next in a line goes on in apps that resume, as after any answer of the user's.
    assert final_text(await talk.say("Yes")) == ("The end." if resumable else "Over.")
    await talk.check_sound()


@pytest.mark.spec(70)
async def test_a_task_in_a_resumable_app_is_one_invocation(store: Store) -> None:
    work = task("work", "Which?", done())
    root = agent("root", call("work", request="x"), "Over.", "Next.", sub_agents=[work])
    talk = Talk(root, store, resumability_config=ResumabilityConfig(is_resumable=True))
    first, second = await talk.say(), await talk.say("That")
    assert final_text(second) == "Over."
    assert {e.invocation_id for e in (*first, *second)} == {first[0].invocation_id}
    assert final_text(await talk.say("Next")) == "Next."
    await talk.check_sound()


@pytest.mark.spec(70)
async def test_a_rewind_before_a_task_forgets_it(store: Store) -> None:
    work = task("work", "Which?")
    root = agent("root", call("work", request="x"), "Hello.", sub_agents=[work])
    talk = Talk(root, store)
    events = await talk.say()
    await talk.runner.rewind_async(
        user_id="ann", session_id="one", rewind_before_invocation_id=events[0].invocation_id
    )
    assert final_text(await talk.say("Hi")) == "Hello."


async def test_an_id_that_a_model_uses_again_is_a_new_task(memory: Store) -> None:
    def again(text: str) -> types.Part:
        return types.Part(
            function_call=types.FunctionCall(id="one", name="work", args={"request": text})
        )

    work = task("work", done("a"), done("b"))
    root = agent("root", [again("a")], [again("b")], "Over.", sub_agents=[work])
    talk = Talk(root, memory)
    assert final_text(await talk.say()) == "Over."
    assert [r for r in responses(talk.seen) if "Task" not in str(r)] == [
        {"result": "a"}, {"result": "b"},
    ]  # fmt: skip
    assert model_of(work).requests[1].texts == ['{"request": "b"}']


async def test_an_agent_tool_of_a_called_agent_says_what_is_wrong(memory: Store) -> None:
    root = agent("root", call("work", request="x"), tools=[AgentTool(once("work"))])
    error = await Talk(root, memory).fails()
    assert isinstance(error, AgentConfigError)
    assert "'work'" in str(error)

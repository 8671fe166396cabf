"""Resumable apps: pausing on long-running tools, resuming by answer or id, after crashes too."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.events import Event
from ostinato.testing import ScriptedModel, call, final_text, trace
from ostinato.tools import LongRunningFunctionTool
from tests.unit.flows.kit import SESSION, USER, Store, Talk, answer_to, check_paired, model_of


def ask(what: str = "it") -> None:
    """Ask somebody outside; the answer comes later."""


ASK = LongRunningFunctionTool(ask)


def asking(name: str, *turns: Any, **options: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(list(turns)), tools=[ASK], **options)


def resumable(root: BaseAgent, store: Store) -> Talk:
    config = ResumabilityConfig(is_resumable=True)
    return Talk(App(name="talk", root_agent=root, resumability_config=config), store)


def asked(events: list[Event]) -> list[types.FunctionCall]:
    return [
        c for e in events for c in e.get_function_calls() if c.id in (e.long_running_tool_ids or ())
    ]


def ended(events: list[Event]) -> list[str]:
    return [e.author for e in events if e.actions.end_of_agent]


def spoken(events: list[Event]) -> list[str]:
    return [f"{e.author}: {text}" for e in events if (text := final_text([e]))]


@pytest.mark.spec(67, 207, 208)
async def test_an_agent_pauses_at_a_long_running_call_and_ends_after_the_answer(
    store: Store,
) -> None:
    agent = asking("clerk", call("ask"), "Thanks.")
    talk = resumable(agent, store)
    first = await talk.say()
    (wanted,) = asked(first)
    assert ended(first) == [] and len(model_of(agent).requests) == 1
    second = await talk.answer(wanted, {"ok": 1})
    assert spoken(second) == ["clerk: Thanks."] and ended(second) == ["clerk"]
    assert {e.invocation_id for e in await talk.stored()} == {first[0].invocation_id}
    assert model_of(agent).requests[-1].function_responses[-1].response == {"ok": 1}
    await talk.check_goes_on(model_of(agent))


@pytest.mark.spec(208, 209)
@pytest.mark.parametrize("by_id", [False, True])
async def test_a_sequence_pauses_and_goes_on_where_it_was(store: Store, by_id: bool) -> None:
    one, two, three = (
        asking("one", "One."),
        asking("two", call("ask"), "Two."),
        asking("three", "3"),
    )
    talk = resumable(SequentialAgent(name="line", sub_agents=[one, two, three]), store)
    first = await talk.say()
    (wanted,) = asked(first)
    assert spoken(first) == ["one: One."] and ended(first) == ["one"]
    options = {"invocation_id": first[0].invocation_id} if by_id else {}
    second = await talk.answer(wanted, {"ok": 1}, **options)
    assert spoken(second) == ["two: Two.", "three: 3"]
    assert ended(second) == ["two", "three", "line"]
    assert len(model_of(one).requests) == 1
    await talk.check_sound()


@pytest.mark.spec(208, 209)
async def test_a_loop_pauses_in_a_round_and_goes_on_in_it(store: Store) -> None:
    one = asking("one", "1a", "1b")
    two = asking("two", call("ask"), "2a", "2b")
    loop = LoopAgent(name="loop", sub_agents=[one, two], max_iterations=2)
    talk = resumable(loop, store)
    first = await talk.say()
    (wanted,) = asked(first)
    second = await talk.answer(wanted, {"ok": 1})
    assert spoken(first) == ["one: 1a"]
    assert spoken(second) == ["two: 2a", "one: 1b", "two: 2b"]
    assert ended(second)[-1] == "loop"
    states = [e.actions.agent_state for e in first + second if e.author == "loop"]
    assert [s["times_looped"] for s in states if s] == [0, 0, 1, 1]
    await talk.check_sound()


@pytest.mark.spec(208, 209)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_open_calls_of_parallel_agents_are_answered_in_any_order(
    store: Store, order: tuple[int, int]
) -> None:
    left, right = asking("left", call("ask"), "L."), asking("right", call("ask"), "R.")
    quick = asking("quick", "Q.")
    talk = resumable(ParallelAgent(name="both", sub_agents=[left, right, quick]), store)
    first = await talk.say()
    calls = asked(first)
    assert len(calls) == 2 and spoken(first) == ["quick: Q."]
    agents = {c.id: e.author for e in first for c in e.get_function_calls()}
    second = await talk.answer(calls[order[0]], {"n": 1})
    assert [s.split(":")[0] for s in spoken(second)] == [agents[calls[order[0]].id]]
    assert "both" not in ended(second)
    third = await talk.answer(calls[order[1]], {"n": 2})
    assert [s.split(":")[0] for s in spoken(third)] == [agents[calls[order[1]].id]]
    assert ended(third)[-1] == "both"
    assert [len(model_of(a).requests) for a in (left, right, quick)] == [2, 2, 1]
    await talk.check_sound()


@pytest.mark.spec(208, 209)
async def test_open_calls_of_parallel_agents_may_be_answered_in_one_message(store: Store) -> None:
    left, right = asking("left", call("ask"), "L."), asking("right", call("ask"), "R.")
    talk = resumable(ParallelAgent(name="both", sub_agents=[left, right]), store)
    first, second_call = asked(await talk.say())
    events = await talk.say(answer_to(first, {"n": 1}, second_call, {"n": 2}))
    assert sorted(spoken(events)) == ["left: L.", "right: R."]
    assert ended(events)[-1] == "both"
    for agent in (left, right):
        check_paired(model_of(agent).requests[-1].contents)
    await talk.check_sound()


@pytest.mark.spec(208)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_several_open_calls_of_one_response_wait_for_all_answers(
    store: Store, order: tuple[int, int]
) -> None:
    agent = asking("clerk", [call("ask", what="a"), call("ask", what="b")], "Thanks.")
    talk = resumable(agent, store)
    calls = asked(await talk.say())
    second = await talk.answer(calls[order[0]], {"n": order[0]})
    assert spoken(second) == [] and len(model_of(agent).requests) == 1
    third = await talk.answer(calls[order[1]], {"n": order[1]})
    assert spoken(third) == ["clerk: Thanks."]
    given = [r.response for r in model_of(agent).requests[-1].function_responses]
    assert sorted(g["n"] for g in given if g) == [0, 1]
    check_paired(model_of(agent).requests[-1].contents)
    await talk.check_goes_on(model_of(agent))


@pytest.mark.spec(208, 66)
async def test_a_pause_within_nested_shells_and_a_transfer_goes_on_there(store: Store) -> None:
    leaf = asking("leaf", call("ask"), "Leaf.")
    middle = SequentialAgent(name="middle", sub_agents=[leaf, asking("tail", "Tail.")])
    loop = LoopAgent(name="loop", sub_agents=[middle], max_iterations=1)
    root = LlmAgent(
        name="root",
        model=ScriptedModel([call("transfer_to_agent", agent_name="loop")]),
        sub_agents=[loop],
    )
    talk = resumable(root, store)
    (wanted,) = asked(await talk.say())
    events = await talk.answer(wanted, {"ok": 1})
    assert spoken(events) == ["leaf: Leaf.", "tail: Tail."]
    assert ended(events)[-2:] == ["middle", "loop"] or ended(events)[-3:] == [
        "middle",
        "loop",
        "root",
    ]
    await talk.check_sound()


@pytest.mark.spec(27)
@pytest.mark.parametrize("shell", [False, True])
async def test_an_invocation_that_has_ended_is_not_run_again(store: Store, shell: bool) -> None:
    agent = asking("clerk", "Done.")
    root = SequentialAgent(name="line", sub_agents=[agent]) if shell else agent
    talk = resumable(root, store)
    first = await talk.say()
    before = len(await talk.stored())
    assert await talk.say(None, invocation_id=first[0].invocation_id) == []
    assert len(model_of(agent).requests) == 1 and len(await talk.stored()) == before


async def crashed(store: Store, talk: Talk, keep: int) -> str:
    """Leave in the store what a process that died after `keep` events would have left."""
    log = (await talk.stored())[:keep]
    place = {"app_name": "talk", "user_id": USER, "session_id": SESSION}
    await store.service.delete_session(**place)
    session = await store.service.create_session(**place)
    for event in log:
        await store.service.append_event(session, event)
    talk.seen = []
    return log[0].invocation_id


@pytest.mark.spec(82, 209)
async def test_a_crash_before_the_tool_ran_resumes_with_the_tool_and_not_the_model(
    store: Store,
) -> None:
    ran: list[str] = []

    def book(city: str) -> str:
        ran.append(city)
        return "booked"

    model = ScriptedModel([call("book", city="Rome"), "Done."])
    talk = resumable(LlmAgent(name="clerk", model=model, tools=[book]), store)
    await talk.say()
    invocation_id = await crashed(store, talk, keep=2)
    ran.clear()
    model.add("Done again.")
    events = await talk.say(None, invocation_id=invocation_id)
    assert ran == ["Rome"]
    assert trace(events) == [
        "clerk: book -> {'result': 'booked'}",
        "clerk: Done again.",
        "clerk: [end_of_agent]",
    ]
    assert len(model.requests) == 3
    await talk.check_goes_on(model)


@pytest.mark.spec(82)
async def test_a_crash_after_the_tool_ran_resumes_with_the_model(store: Store) -> None:
    ran: list[str] = []

    def book(city: str) -> str:
        ran.append(city)
        return "booked"

    model = ScriptedModel([call("book", city="Rome"), "Done."])
    talk = resumable(LlmAgent(name="clerk", model=model, tools=[book]), store)
    await talk.say()
    invocation_id = await crashed(store, talk, keep=3)
    model.add("Done again.")
    events = await talk.say(None, invocation_id=invocation_id)
    assert ran == ["Rome"] and spoken(events) == ["clerk: Done again."]
    await talk.check_goes_on(model)


@pytest.mark.spec(66)
@pytest.mark.parametrize("keep", range(1, 6))
async def test_a_crash_before_the_last_word_of_a_transfer_resumes_to_the_end(
    store: Store, keep: int
) -> None:
    def book() -> str:
        return "booked"

    def answer(request: Any) -> Any:
        return "Done." if request.contents[-1].parts[-1].function_response else call("book")

    from ostinato.testing import FunctionModel

    child = LlmAgent(name="child", model=FunctionModel(answer), tools=[book])
    root = LlmAgent(
        name="root",
        model=FunctionModel(lambda _: call("transfer_to_agent", agent_name="child")),
        sub_agents=[child],
    )
    talk = resumable(root, store)
    await talk.say()
    invocation_id = await crashed(store, talk, keep)
    await talk.say(None, invocation_id=invocation_id)
    log = await talk.check_sound()
    said = [line for line in spoken(log) if line.startswith("child")]
    assert said == ["child: Done."]
    assert ended(log)[-1] == "root" or ended(log)[-1] == "child"


@pytest.mark.spec(15, 26)
async def test_an_app_that_is_not_resumable_resumes_what_there_is(store: Store) -> None:
    agent = asking("clerk", "One.", "Two.")
    talk = Talk(agent, store)
    first = await talk.say()
    events = await talk.say("More", invocation_id=first[0].invocation_id)
    assert spoken(events) == ["clerk: Two."]
    assert {e.invocation_id for e in await talk.stored()} == {first[0].invocation_id}


@pytest.mark.spec(136, 207)
async def test_a_long_running_tool_that_gives_nothing_ends_the_run_at_once(store: Store) -> None:
    agent = asking("clerk", call("ask"))
    talk = Talk(agent, store)
    events = await talk.say()
    assert len(events) == 1 and events[0].is_final_response()
    assert len(model_of(agent).requests) == 1


@pytest.mark.spec(207)
async def test_a_long_running_tool_that_gives_a_first_result_goes_on_with_it(
    store: Store,
) -> None:
    def ticket() -> dict[str, str]:
        return {"status": "pending"}

    model = ScriptedModel([call("ticket"), "Waiting.", "Solved."])
    agent = LlmAgent(name="clerk", model=model, tools=[LongRunningFunctionTool(ticket)])
    talk = Talk(agent, store)
    first = await talk.say()
    assert spoken(first) == ["clerk: Waiting."]
    (wanted,) = asked(first)
    await talk.answer(wanted, {"status": "done"})
    request = model.requests[-1]
    assert [r.response for r in request.function_responses] == [{"status": "done"}]
    check_paired(request.contents)
    await talk.check_goes_on(model)

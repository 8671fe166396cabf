"""Replayed lanes: which differences are found, and that no effect is repeated."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent, BaseAgent, ParallelAgent, RunConfig
from ostinato.apps import App
from ostinato.context.budget import Price
from ostinato.context.readonly import ReadonlyContext
from ostinato.errors import InputValidationError
from ostinato.evaluation.replay.call_gate import CallGate, is_read_only, is_steering
from ostinato.evaluation.replay.comparison import Comparison, compare_runs
from ostinato.evaluation.replay.lane import LaneRun, LaneRunner, LaneSettings, read_recorded
from ostinato.evaluation.replay.recording import Exchange, RecordedSession, call_key
from ostinato.evaluation.replay.replay_report import describe, list_skipped
from ostinato.evaluation.replay.selection import Selection, select_exchanges
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions, EventCompaction
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.runners import Runner
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools.agent_tool import AgentTool
from ostinato.tools.function_tool import FunctionTool
from ostinato.tools.long_running_tool import LongRunningFunctionTool
from tests.support.recorded_store import (
    APP,
    Effects,
    make_agent,
    record,
    results,
    said,
    serve,
)


async def record_exchanges(
    conversations: Sequence[Sequence[str]], agent: Any = None, **options: Any
) -> list[Exchange]:
    service = InMemorySessionService()
    await record(service, agent or make_agent(), conversations, **options)
    return (await select_exchanges(service, Selection(app_name=APP))).exchanges


async def replay(
    exchanges: list[Exchange], agent: Any, **settings: Any
) -> tuple[list[LaneRun], list[Comparison]]:
    runs = await LaneRunner(agent, LaneSettings(**settings)).run_all(exchanges)
    recorded = [read_recorded(one, {}, {}) for one in exchanges]
    return runs, [compare_runs(*pair) for pair in zip(recorded, runs, strict=True)]


async def test_the_same_agent_does_the_same_and_runs_no_tool() -> None:
    exchanges = await record_exchanges([["hello", "find A1", "refund A2"], ["refund A3"]])
    effects = Effects()
    runs, found = await replay(exchanges, make_agent(effects=effects))
    assert [one.outcome for one in found] == ["same"] * 4
    assert effects.refunds == effects.lookups == []
    assert [one.ran for one in runs] == [0] * 4
    assert "Order A2: refunded." in [run.answer for run in runs]


async def test_other_words_other_calls_and_divergence_are_told_apart() -> None:
    def changed(request: LlmRequest) -> Any:
        words, done = said(request), results(request)
        if words == "hello":
            return "Good day."
        if words == "find A1" and not done:
            return call("find_order", order="A-1")
        if words == "refund A2" and len(done) == 1:
            return call("refund", order="A-2")
        return serve(request)

    exchanges = await record_exchanges([["hello"], ["find A1"], ["refund A2"], ["refund A3"]])
    effects = Effects()
    runs, found = await replay(exchanges, make_agent(changed, effects))
    assert [one.outcome for one in found] == ["words", "calls", "diverged", "same"]
    assert [one.step for one in found] == [None, 1, 2, None]
    assert found[2].expected == [("refund", {"order": "A2"})]
    assert found[2].actual == [("refund", {"order": "A-2"})]
    assert runs[2].stopped == ("refund", {"order": "A-2"})
    assert describe(found[2], runs[2]) == (
        "diverged at step 2 (refund(order='A-2') was not recorded and may have effects)"
    )
    assert (effects.refunds, effects.lookups) == ([], ["A-1"])


async def test_an_effect_that_is_called_again_does_not_run() -> None:
    def twice(request: LlmRequest) -> Any:
        if len(results(request)) == 2:
            return call("refund", order="A1")
        return serve(request)

    exchanges = await record_exchanges([["refund A1"]])
    effects = Effects()
    _, found = await replay(exchanges, make_agent(twice, effects))
    assert (found[0].outcome, found[0].step, effects.refunds) == ("calls", 3, [])


async def test_a_mock_answers_effects_in_place_of_the_tool() -> None:
    def changed(request: LlmRequest) -> Any:
        if len(results(request)) == 1:
            return call("refund", order="other")
        return serve(request)

    async def mock(tool: Any, args: dict[str, Any]) -> dict[str, Any]:
        return {"status": f"mocked {tool.name} {args['order']}"}

    exchanges = await record_exchanges([["refund A1"]])
    effects = Effects()
    runs, found = await replay(exchanges, make_agent(changed, effects), mock=mock)
    assert (found[0].outcome, runs[0].mocked, effects.refunds) == ("calls", 1, [])
    assert runs[0].answer == "Order A1: mocked refund other."


async def test_a_swallowed_stop_still_counts_as_diverged() -> None:
    def changed(request: LlmRequest) -> Any:
        if not results(request):
            return call("refund", order="first")
        return call("refund", order="again") if len(results(request)) == 1 else "done"

    exchanges = await record_exchanges([["refund A1"]])
    effects = Effects()
    app = App(name=APP, root_agent=make_agent(changed, effects), tool_errors="feedback")
    _, found = await replay(exchanges, app)
    assert (found[0].outcome, effects.refunds) == ("diverged", [])


async def test_the_history_and_the_state_are_those_before_the_message() -> None:
    def remember(note: str, tool_context: Any) -> str:
        """Keep a note."""
        tool_context.state["note"] = note
        return "kept"

    def answer(request: LlmRequest) -> Any:
        if said(request).startswith("keep") and not results(request):
            return call("remember", note=said(request))
        count = sum(content.role == "user" for content in request.contents)
        return f"{count} {request.config.system_instruction}"

    agent = Agent(
        name="notes", model=FunctionModel(answer), tools=[remember], instruction="Note: {note?}"
    )
    exchanges = await record_exchanges([["keep x", "and", "keep y", "last"]], agent)
    runs, found = await replay(exchanges, agent)
    assert [one.outcome for one in found] == ["same"] * 4
    assert "keep x" in runs[1].answer and "keep y" in runs[3].answer


async def record_approval(agent: Any, between: Sequence[str] = ()) -> list[Exchange]:
    """Record calls that are approved by one message after other messages."""
    service = InMemorySessionService()
    await record(service, agent, [["refund A1", *between]])
    session = await service.get_session(app_name=APP, user_id="ann", session_id="s0")
    assert session is not None
    answers = [
        types.Part(
            function_response=types.FunctionResponse(
                id=asked.id, name=asked.name, response={"confirmed": True}
            )
        )
        for event in session.events
        for asked in event.get_function_calls()
        if asked.name == "adk_request_confirmation"
    ]
    runner = Runner(app_name=APP, agent=agent, session_service=service)
    content = types.Content(role="user", parts=answers)
    async for _ in runner.run_async(user_id="ann", session_id="s0", new_message=content):
        pass
    return (await select_exchanges(service, Selection())).exchanges


async def test_confirmed_calls_are_confirmed_again_with_the_recorded_answer() -> None:
    exchanges = await record_approval(make_agent(confirm=True))
    assert [len(one.messages) for one in exchanges] == [2]

    effects = Effects()
    runs, found = await replay(exchanges, make_agent(effects=effects, confirm=True))
    assert (found[0].outcome, runs[0].answer) == ("same", "Order A1: refunded.")
    assert effects.refunds == []

    def stops(request: LlmRequest) -> Any:
        return "No." if results(request) else serve(request)

    _, found = await replay(exchanges, make_agent(stops, effects, confirm=True))
    assert (found[0].outcome, found[0].step) == ("diverged", 2)


async def test_a_replay_that_stops_after_an_approval_warns_of_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def again(request: LlmRequest) -> Any:
        return call("refund", order="other") if len(results(request)) == 2 else serve(request)

    def pair(answer: Callable[[LlmRequest], Any]) -> ParallelAgent:
        agents = [make_agent(answer, confirm=True) for _ in range(2)]
        agents[1].name = "other"
        return ParallelAgent(name="pair", sub_agents=list(agents))

    exchanges = await record_approval(pair(serve))
    _, found = await replay(exchanges, pair(again))
    assert found[0].outcome == "diverged"
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_a_failing_agent_is_a_result_and_stops_no_other() -> None:
    def broken(request: LlmRequest) -> Any:
        if said(request) == "find A1":
            raise RuntimeError("no model")
        return serve(request)

    exchanges = await record_exchanges([["find A1"], ["find A2"]])
    runs, found = await replay(exchanges, make_agent(broken))
    assert [one.outcome for one in found] == ["failed", "same"]
    assert "no model" in runs[0].error


async def test_plugins_and_callbacks_of_the_changed_agent_count() -> None:
    class Guard(BasePlugin):
        async def before_tool_callback(self, **call: Any) -> Any:
            return {"status": "denied"} if call["tool"].name == "refund" else None

    exchanges = await record_exchanges([["refund A1"]])
    app = App(name=APP, root_agent=make_agent(), plugins=[Guard(name="guard")])
    runs, found = await replay(exchanges, app)
    assert (found[0].outcome, runs[0].answer) == ("words", "Order A1: denied.")

    def deny(tool: Any, args: Any, tool_context: Any) -> Any:
        return {"status": "refused"} if tool.name == "refund" else None

    runs, _ = await replay(exchanges, make_agent(before_tool_callback=deny))
    assert runs[0].answer == "Order A1: refused."


async def test_an_agent_as_tool_runs_behind_the_gate() -> None:
    effects = Effects()

    def inner(request: LlmRequest) -> Any:
        return "paid" if results(request) else call("refund", order="inner")

    def outer(request: LlmRequest) -> Any:
        return "done" if results(request) else call("payer", request="new")

    for shown in (True, False):
        payer = Agent(name="payer", model=FunctionModel(inner), tools=effects.tools())
        tool = AgentTool(payer, include_plugins=shown)
        agent = Agent(name="clerk", model=FunctionModel(outer), tools=[tool])
        exchanges = await record_exchanges([["hello"]])
        _, found = await replay(exchanges, agent)
        assert (found[0].outcome, effects.refunds) == ("diverged", [])


def test_only_a_statement_makes_a_tool_read_only() -> None:
    def get_everything() -> None:
        """Delete everything."""

    def exit_loop() -> None:
        """Not the runtime's."""

    tool = FunctionTool(get_everything)
    assert not is_read_only(tool)
    assert is_read_only(tool, ["get_*"])
    assert not is_steering(FunctionTool(exit_loop))
    marked = FunctionTool(get_everything)
    marked.custom_metadata = {"read_only": True}
    assert is_read_only(marked)
    marked.custom_metadata = {"read_only": "yes"}
    assert not is_read_only(marked)


async def test_outside_of_a_replay_the_gate_lets_nothing_through() -> None:
    effects = Effects()
    service = InMemorySessionService()
    runner = Runner(
        app_name=APP,
        agent=make_agent(effects=effects),
        plugins=[CallGate()],
        session_service=service,
    )
    await service.create_session(app_name=APP, user_id="ann", session_id="s")
    content = types.Content(role="user", parts=[types.Part(text="find A1")])
    with pytest.raises(Exception, match="find_order"):
        async for _ in runner.run_async(user_id="ann", session_id="s", new_message=content):
            pass
    assert effects.lookups == []


async def test_agents_with_code_of_their_own_are_refused() -> None:
    class Own(BaseAgent):
        pass

    root = Agent(name="root", model=FunctionModel(serve), sub_agents=[Own(name="own")])
    with pytest.raises(InputValidationError, match=r"'own' is a Own.*--allow-code"):
        LaneRunner(root, LaneSettings())
    LaneRunner(root, LaneSettings(allow_code=True))


async def test_labels_time_user_sample_and_seed_choose() -> None:
    service = InMemorySessionService()
    config = RunConfig(custom_metadata={"team": "north"})
    await record(service, make_agent(), [["hello"], ["find A1"], ["find A2"]], run_config=config)

    async def choose(**fields: Any) -> list[str]:
        chosen = await select_exchanges(service, Selection(**fields))
        return [one.session.session_id for one in chosen.exchanges]

    assert await choose(labels=["team=north"]) == ["s0", "s1", "s2"]
    assert await choose(labels=["team=south"]) == []
    assert await choose(labels=["team"], session_id="s1") == ["s1"]
    assert await choose(user_id="bob") == []
    assert await choose(app_name="other") == []
    assert await choose(until=1.0) == []
    one = await choose(sample=1, seed=3)
    assert len(one) == 1 and one == await choose(sample=1, seed=3)


async def test_a_recording_that_failed_is_skipped_with_its_error() -> None:
    def broken(request: LlmRequest) -> Any:
        raise RuntimeError("no model")

    service = InMemorySessionService()
    with pytest.raises(RuntimeError):
        await record(service, make_agent(broken), [["hello"]])
    chosen = await select_exchanges(service, Selection())
    assert chosen.exchanges == []
    assert dict(chosen.skipped) == {"it failed with RuntimeError: no model": 1}


async def test_a_recording_whose_tool_failed_was_not_interrupted() -> None:
    def decline(order: str) -> None:
        raise ValueError(f"card of {order}\ndeclined")

    service = InMemorySessionService()
    model = FunctionModel(lambda request: call("decline", order="A1"))
    agent = Agent(name="clerk", model=model, tools=[decline])
    with pytest.raises(Exception, match="declined"):
        await record(service, agent, [["hello"]])
    chosen = await select_exchanges(service, Selection())
    assert dict(chosen.skipped) == {"it failed with ValueError: card of A1 declined": 1}


def test_only_the_most_frequent_reasons_are_listed() -> None:
    skipped = {f"it failed with ValueError: {number}": 1 for number in range(12)}
    lines = list_skipped({**skipped, "it was interrupted": 3})
    assert (len(lines), lines[0], lines[-1]) == (
        11,
        "3, because it was interrupted",
        "3, for other reasons",
    )


@pytest.mark.parametrize("kept", [1, 2])
async def test_a_run_that_was_cancelled_is_skipped(kept: int) -> None:
    service = InMemorySessionService()
    await service.create_session(app_name=APP, user_id="ann", session_id="s0")
    runner = Runner(app_name=APP, agent=make_agent(), session_service=service)
    run = runner.run_async(user_id="ann", session_id="s0", new_message="refund A1")
    for _ in range(kept):  # the call; or the call and its response
        await anext(run)
    await run.aclose()
    chosen = await select_exchanges(service, Selection())
    assert (chosen.exchanges, dict(chosen.skipped)) == ([], {"it was interrupted": 1})


async def test_a_question_without_an_answer_is_not_an_interruption() -> None:
    exchanges = await record_exchanges([["refund A1"]], make_agent(confirm=True))
    _, found = await replay(exchanges, make_agent(confirm=True))
    assert [one.outcome for one in found] == ["same"]


@pytest.mark.parametrize("confirm", [True, lambda order: order == "A1"])
async def test_a_tool_that_asks_now_or_no_longer_is_a_difference(confirm: Any) -> None:
    plain = await record_exchanges([["refund A1"], ["hello"]])
    runs, found = await replay(plain, make_agent(confirm=confirm))
    assert [one.outcome for one in found] == ["diverged", "same"]
    assert runs[0].asked_otherwise == "refund now asks for a confirmation"
    assert "refund now asks for a confirmation" in describe(found[0], runs[0])
    asking = await record_exchanges([["refund A1"], ["hello"]], make_agent(confirm=confirm))
    effects = Effects()
    runs, found = await replay(asking, make_agent(effects=effects))
    assert [one.outcome for one in found] == ["diverged", "same"]
    assert runs[0].asked_otherwise == "refund no longer asks for a confirmation"
    assert effects.refunds == []


async def test_recorded_usage_has_cost_where_prices_are_known() -> None:
    def priced(request: LlmRequest) -> Any:
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=1_000_000, candidates_token_count=0, total_token_count=1_000_000
        )
        content = types.Content(role="model", parts=[types.Part(text="hi")])
        return LlmResponse(content=content, usage_metadata=usage)

    exchanges = await record_exchanges([["hello"]], make_agent(priced))
    prices = {"m": Price(input=2, output=3)}
    run = read_recorded(exchanges[0], prices, {"clerk": "m"})
    assert (run.usage.cost, run.usage.tokens) == (2.0, 1_000_000)
    assert read_recorded(exchanges[0], {}, {"clerk": "m"}).usage.unpriced == ["m"]


async def test_the_order_in_time_of_parallel_branches_does_not_count() -> None:
    def make(order: str) -> Agent:
        def answer(request: LlmRequest) -> Any:
            if not results(request):
                return [call("refund", order=order), call("find_order", order=order)]
            return f"done {order}"

        return make_agent(answer).clone({"name": order})

    def make_tree(*orders: str) -> ParallelAgent:
        return ParallelAgent(name="all", sub_agents=[make(one) for one in orders])

    exchanges = await record_exchanges([["go"]] * 3, make_tree("a", "b", "c"))
    runs, found = await replay(exchanges, make_tree("c", "a", "b"))
    assert [one.outcome for one in found] == ["same"] * 3
    assert runs[0].answer.split() == ["done", "a", "done", "b", "done", "c"]


async def test_transfers_delegates_and_their_calls_are_replayed() -> None:
    effects = Effects()

    def work(request: LlmRequest) -> Any:
        done = [
            part.function_response for content in request.contents for part in content.parts or ()
        ]
        return "paid" if any(one is not None for one in done) else call("refund", order="A1")

    def transfer(request: LlmRequest) -> Any:
        return call("transfer_to_agent", agent_name="worker")

    def make_tree(order: str) -> Agent:
        def changed(request: LlmRequest) -> Any:
            found = work(request)
            return call("refund", order=order) if found != "paid" else found

        worker = Agent(
            name="worker",
            description="works",
            model=FunctionModel(changed),
            tools=effects.tools(),
        )
        return Agent(name="desk", model=FunctionModel(transfer), sub_agents=[worker])

    exchanges = await record_exchanges([["go"]], make_tree("A1"))
    assert effects.refunds == ["A1"]
    _, found = await replay(exchanges, make_tree("A1"))
    assert found[0].outcome == "same"
    _, found = await replay(exchanges, make_tree("B2"))
    assert (found[0].outcome, found[0].step) == ("diverged", 2)
    assert effects.refunds == ["A1"]


async def test_a_long_running_call_gets_the_recorded_answer_of_the_user() -> None:
    started: list[str] = []

    def ask_boss(amount: int) -> dict[str, str]:
        """Ask the boss."""
        started.append("asked")
        return {"status": "pending"}

    def answer(request: LlmRequest) -> Any:
        done = results(request)
        if not done:
            return call("ask_boss", amount=3)
        return f"The boss says {(done[-1].response or {}).get('status')}."

    service = InMemorySessionService()
    agent = Agent(
        name="clerk", model=FunctionModel(answer), tools=[LongRunningFunctionTool(ask_boss)]
    )
    await record(service, agent, [["go"]])
    session = await service.get_session(app_name=APP, user_id="ann", session_id="s0")
    assert session is not None
    asked = next(one for event in session.events for one in event.get_function_calls())
    part = types.Part(
        function_response=types.FunctionResponse(
            id=asked.id, name=asked.name, response={"status": "yes"}
        )
    )
    runner = Runner(app_name=APP, agent=agent, session_service=service)
    content = types.Content(role="user", parts=[part])
    async for _ in runner.run_async(user_id="ann", session_id="s0", new_message=content):
        pass
    exchanges = (await select_exchanges(service, Selection())).exchanges
    runs, found = await replay(exchanges, agent)
    assert (found[0].outcome, runs[0].answer) == ("same", "The boss says yes.")
    assert started == ["asked"]


def test_equal_numbers_of_json_make_equal_calls() -> None:
    assert call_key("pay", {"a": 5, "b": [{"c": 2}]}) == call_key(
        "pay", {"a": 5.0, "b": [{"c": 2.0}]}
    )
    assert call_key("pay", {"a": 5}) != call_key("pay", {"a": 5.5})
    assert call_key("pay", {"a": 1}) != call_key("pay", {"a": True})


async def test_turns_between_a_question_and_its_answer_are_part_of_the_history() -> None:
    def instruct(context: ReadonlyContext) -> str:
        texts = [
            part.text
            for event in context.session.events
            for part in (event.content.parts if event.content else None) or ()
            if part.text
        ]
        return " | ".join(texts)

    def answer(request: LlmRequest) -> Any:
        found = serve(request)
        return f"{found} {request.config.system_instruction}" if isinstance(found, str) else found

    agent = make_agent(answer, confirm=True, instruction=instruct)
    exchanges = await record_approval(agent, ["hello", "find A2"])
    assert [len(one.messages) for one in exchanges] == [2, 1, 1]
    effects = Effects()
    changed = make_agent(answer, effects, confirm=True, instruction=instruct)
    runs, found = await replay(exchanges, changed)
    assert "| hello | You said hello." in runs[0].answer and "| find A2 |" in runs[0].answer
    assert [one.outcome for one in found] == ["same"] * 3
    assert effects.refunds == []


def test_times_between_two_messages_follow_those_of_the_replay() -> None:
    def make(time: float, author: str = "clerk", covers: float | None = None) -> Event:
        compaction = None
        if covers is not None:
            content = types.Content(role="model", parts=[types.Part(text="all")])
            compaction = EventCompaction(
                start_timestamp=1.0, end_timestamp=covers, compacted_content=content
            )
        return Event(author=author, timestamp=time, actions=EventActions(compaction=compaction))

    asked, call_of, other, summary, approved = (
        make(2.0, "user"),
        make(3.0),
        make(4.0, "user"),
        make(5.0, "user", covers=3.5),
        make(6.0, "user"),
    )
    old = make(1.0, "user")
    session = RecordedSession(APP, "u", "s", {}, [old, asked, call_of, other, summary, approved])
    exchange = Exchange(session, 1, 1, [asked, approved], [call_of])
    moved, told = exchange.list_between(1, [make(102.0, "user"), make(103.0)])
    assert 103.0 < moved.timestamp < told.timestamp < 103.1
    assert told.actions.compaction is not None
    covered = told.actions.compaction
    assert (covered.start_timestamp, covered.end_timestamp) == (1.0, 103.0)
    assert other.timestamp == 4.0

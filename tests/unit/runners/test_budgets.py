"""What an invocation may use: where a budget ends it, and how the log and the session are left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, ParallelAgent, RunConfig, SequentialAgent
from ostinato.agents.run_config import StreamingMode
from ostinato.apps import App, Budget, Price, ResumabilityConfig
from ostinato.errors import AgentConfigError, BudgetExceededError, RunCancelledError
from ostinato.events import Event
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.plugins import BasePlugin
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import AgentTool, LongRunningFunctionTool
from tests.unit.flows.kit import SESSION, USER, Store, Talk, answer_to, responses


class Clock:
    """The event loop's clock, which a test moves on; timers that are due then go off."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._real, self._ahead = self._loop.time, 0.0
        self._loop.time = lambda: self._real() + self._ahead  # type: ignore[method-assign]

    def move(self, seconds: float) -> None:
        self._ahead += seconds


@pytest.fixture
async def clock() -> Clock:
    return Clock()


def used(turn: Any, tokens: int = 10, **counts: Any) -> LlmResponse:
    """A turn that reports its tokens: all in the prompt, unless `counts` says otherwise."""
    parts = turn if isinstance(turn, list) else [turn]
    made = [
        types.Part(text=p) if isinstance(p, str) else types.Part(function_call=p) for p in parts
    ]
    counts = counts or {"prompt_token_count": tokens}
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=tokens, **counts)
    content = types.Content(role="model", parts=made)
    return LlmResponse(content=content, usage_metadata=usage)


class Work:
    """Tools that count their runs; `wait` runs until it is cancelled."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.cancelled: list[str] = []
        self.waiting = asyncio.Semaphore(0)

    async def dig(self) -> str:
        """Dig."""
        self.runs.append("dig")
        self.waiting.release()
        return "dug"

    async def wait(self) -> str:
        """Wait."""
        self.runs.append("wait")
        self.waiting.release()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append("wait")
            raise
        return ""


class EndlessModel(ScriptedModel):
    """Never answers, for more than a minute, and notes that it was cancelled."""

    clock: Any = None
    cancelled: list[str] = []

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if self._requests or self._turns:
            async for response in super().generate_content_async(llm_request, stream):
                yield response
            return
        self.clock.move(61)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append("model")
            raise
        yield LlmResponse()


def agent(model: ScriptedModel, *tools: Any, name: str = "root", **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=model, tools=list(tools), **fields)


async def check_ended(
    talk: Talk, error: BaseException, limit: str, *said: str, by: str = "root"
) -> list[Event]:
    """The error names who, what and how much; the log ends with it and answers every call."""
    assert type(error) is BudgetExceededError
    for text in (repr(by), limit, *said, "RunConfig.budget or App.budget"):
        assert text in str(error)
    log = await talk.check_sound()
    assert (log[-1].error_code, log[-1].error_message) == ("BudgetExceededError", str(error))
    return log


async def test_tokens_end_the_run_before_the_next_tool_call(store: Store) -> None:
    work, model = Work(), ScriptedModel([used(call("dig"), 60), used(call("dig"), 40)])
    talk = Talk(agent(model, work.dig), store, budget=Budget(max_tokens=100))
    error = await talk.fails()
    log = await check_ended(talk, error, "max_tokens=100", "100 tokens")
    assert work.runs == ["dig"]
    assert [list(r) for r in responses(log)] == [["result"], ["error"]]
    await talk.check_goes_on(model)


async def test_tokens_end_the_run_before_the_next_model_call(store: Store) -> None:
    first, second = ScriptedModel([used("One.", 100)]), ScriptedModel(["Two."])
    root = SequentialAgent(
        name="both", sub_agents=[agent(first, name="one"), agent(second, name="two")]
    )
    talk = Talk(root, store, budget=Budget(max_tokens=100))
    await check_ended(talk, await talk.fails(), "max_tokens=100", by="two")
    assert second.requests == []


async def test_a_run_that_needs_nothing_more_ends_as_usual(store: Store) -> None:
    model = ScriptedModel([used(call("dig"), 10), used("Done.", 1_000)])
    work = Work()
    budget = Budget(max_tokens=11, max_tool_calls=1, max_seconds=60)
    talk = Talk(agent(model, work.dig), store, budget=budget)
    assert final_text(await talk.say()) == "Done."
    await talk.check_goes_on(model)


async def test_tool_calls_beyond_the_budget_are_answered_not_run(store: Store) -> None:
    work = Work()
    model = ScriptedModel([call("dig"), [call("dig"), call("dig")]])
    talk = Talk(agent(model, work.dig), store, budget=Budget(max_tool_calls=2))
    error = await talk.fails()
    log = await check_ended(talk, error, "max_tool_calls=2", "2 tool calls")
    assert work.runs == ["dig", "dig"]
    assert [list(r) for r in responses(log)] == [["result"], ["result"], ["error"]]
    await talk.check_goes_on(model)


@pytest.mark.parametrize("answered_by", ["feedback", "callback", "plugin"])
async def test_no_one_who_answers_errors_makes_room(store: Store, answered_by: str) -> None:
    class Answers(BasePlugin):
        async def on_tool_error_callback(self, **_: Any) -> dict[str, Any]:
            return {"fine": True}

    work = Work()
    model = ScriptedModel([call("dig"), call("dig"), "Never said."])
    fields: dict[str, Any] = {}
    if answered_by == "callback":
        fields["on_tool_error_callback"] = lambda **_: {"fine": True}
    app: dict[str, Any] = {"tool_errors": "feedback"} if answered_by == "feedback" else {}
    if answered_by == "plugin":
        app["plugins"] = [Answers(name="answers")]
    talk = Talk(agent(model, work.dig, **fields), store, budget=Budget(max_tool_calls=1), **app)
    await check_ended(talk, await talk.fails(), "max_tool_calls=1")
    assert work.runs == ["dig"]
    assert len(model.requests) == 2


async def test_calls_that_a_hook_answers_and_unknown_tools_do_not_count(store: Store) -> None:
    work = Work()
    model = ScriptedModel([call("dig"), call("nosuch"), "Done."])
    root = agent(model, work.dig, before_tool_callback=lambda **_: {"result": "by hook"})
    talk = Talk(root, store, budget=Budget(max_tool_calls=0))
    assert final_text(await talk.say()) == "Done."
    assert work.runs == []


async def test_cost_is_counted_by_the_price_of_each_model(store: Store) -> None:
    work = Work()
    cheap = ScriptedModel([used(call("dig"), 1_000_000), used("One.", 500_000)], model="cheap")
    dear = ScriptedModel(
        [
            used(call("dig"), 200_000, prompt_token_count=100_000, candidates_token_count=100_000),
            "Two.",
        ],
        model="dear",
    )
    root = SequentialAgent(
        name="both",
        sub_agents=[agent(cheap, work.dig, name="one"), agent(dear, work.dig, name="two")],
    )
    prices = {"cheap": Price(input=1, output=2), "dear": Price(input=10, output=20)}
    # 1 + 0.5 by the cheap model, 1 + 2 by the dear one
    talk = Talk(root, store, budget=Budget(max_cost=4.5, prices=prices))
    error = await talk.fails()
    await check_ended(talk, error, "max_cost=4.5", "a cost of 4.5", by="two")
    assert work.runs == ["dig"]


async def test_a_model_without_a_price_is_the_developer_s_mistake(store: Store) -> None:
    model = ScriptedModel(["Hello."], model="new-model")
    prices = {"old-model": Price(input=1, output=1)}
    talk = Talk(agent(model), store, budget=Budget(max_cost=1, prices=prices))
    error = await talk.fails()
    assert type(error) is AgentConfigError
    for text in (
        "'root'",
        "'new-model'",
        "'old-model'",
        "max_cost",
        "Price(input=..., output=...)",
    ):
        assert text in str(error)
    assert model.requests == []
    talk = Talk(agent(model), store, budget=Budget(max_tokens=99, prices=prices))
    assert final_text(await talk.say()) == "Hello."


async def test_time_cancels_the_model_call(store: Store, clock: Clock) -> None:
    model = EndlessModel(clock)
    talk = Talk(agent(model), store, budget=Budget(max_seconds=60))
    await check_ended(talk, await talk.fails(), "max_seconds=60", "seconds")
    assert model.cancelled == ["model"]
    await talk.check_goes_on(model)


async def test_an_error_hook_may_have_the_last_word_on_a_model_call_that_was_cut(
    store: Store, clock: Clock
) -> None:
    model = EndlessModel(clock)
    content = types.Content(role="model", parts=[types.Part(text="Out of time.")])
    root = agent(model, on_model_error_callback=lambda **_: LlmResponse(content=content))
    talk = Talk(root, store, budget=Budget(max_seconds=60))
    assert final_text(await talk.say()) == "Out of time."
    assert model.cancelled == ["model"]
    await talk.check_sound()


async def test_time_cancels_the_tools_that_run_and_no_sibling_runs_on(
    store: Store, clock: Clock
) -> None:
    work = Work()
    model = ScriptedModel([[call("wait"), call("dig"), call("wait")]])
    talk = Talk(agent(model, work.dig, work.wait), store, budget=Budget(max_seconds=60))
    run = asyncio.create_task(talk.fails())
    for _ in range(3):
        await work.waiting.acquire()
    clock.move(61)
    log = await check_ended(talk, await run, "max_seconds=60", "seconds")
    assert work.cancelled == ["wait", "wait"]
    assert [list(r) for r in responses(log)] == [["error"], ["result"], ["error"]]
    await talk.check_goes_on(model)


async def test_time_that_went_by_elsewhere_counts_before_the_next_call(
    store: Store, clock: Clock
) -> None:
    model = ScriptedModel(["Never said."])
    root = agent(model, before_agent_callback=lambda **_: clock.move(60))
    talk = Talk(root, store, budget=Budget(max_seconds=60))
    await check_ended(talk, await talk.fails(), "max_seconds=60")
    assert model.requests == []


async def test_a_tool_s_own_timeout_is_not_the_budget_s(store: Store) -> None:
    async def late() -> str:
        """Be late."""
        raise TimeoutError("mine")

    talk = Talk(agent(ScriptedModel([call("late")]), late), store, budget=Budget(max_seconds=60))
    error = await talk.fails()
    assert type(error) is TimeoutError and str(error) == "mine"


async def test_cancelling_the_run_is_not_the_budget_s(store: Store) -> None:
    work = Work()
    root = agent(ScriptedModel([call("wait")]), work.wait)
    talk = Talk(root, store, budget=Budget(max_seconds=60))
    run = talk.runner.start(user_id=USER, session_id=SESSION, new_message="Go")
    await work.waiting.acquire()
    assert await run.cancel()
    with pytest.raises(RunCancelledError):
        await run.result()
    assert work.cancelled == ["wait"]


@pytest.mark.parametrize("tool_errors", ["raise", "feedback"])
async def test_agents_that_are_tools_use_the_same_budget(store: Store, tool_errors: Any) -> None:
    work = Work()
    inner = ScriptedModel([used(call("dig"), 50), used("Inner.", 30), used("More.", 30)])
    outer = ScriptedModel(
        [used(call("helper", request="x"), 10), used(call("helper", request="y"), 10)]
    )
    helper = AgentTool(agent(inner, work.dig, name="helper"))
    budget = Budget(max_tokens=100, max_tool_calls=5)
    talk = Talk(agent(outer, helper), store, budget=budget, tool_errors=tool_errors)
    await check_ended(talk, await talk.fails(), "max_tokens=100", "100 tokens")
    assert (len(outer.requests), len(inner.requests), work.runs) == (2, 2, ["dig"])


@pytest.mark.parametrize("tool_errors", ["raise", "feedback"])
async def test_an_agent_that_is_a_tool_ends_the_whole_run(store: Store, tool_errors: Any) -> None:
    work = Work()
    inner = ScriptedModel([call("dig"), call("dig"), "Never said."])
    outer = ScriptedModel([call("helper", request="x"), "Never said."])
    helper = AgentTool(agent(inner, work.dig, name="helper"))
    budget = Budget(max_tool_calls=2)  # helper, dig
    talk = Talk(agent(outer, helper), store, budget=budget, tool_errors=tool_errors)
    error = await talk.fails()
    by = "helper" if tool_errors == "raise" else "root"
    await check_ended(talk, error, "max_tool_calls=2", by=by)
    assert work.runs == ["dig"]


async def test_parallel_branches_count_together(store: Store) -> None:
    work = Work()
    models = [ScriptedModel([used(call("dig"), 40), used("Done.", 40)]) for _ in range(3)]
    branches: list[BaseAgent] = [
        agent(model, work.dig, name=f"b{n}") for n, model in enumerate(models)
    ]
    talk = Talk(
        ParallelAgent(name="all", sub_agents=branches), store, budget=Budget(max_tool_calls=2)
    )
    error = await talk.fails()
    assert type(error) is BudgetExceededError
    assert "max_tool_calls=2" in str(error)
    assert work.runs == ["dig", "dig"]
    log = await talk.check_sound()
    assert log[-1].error_code == "BudgetExceededError"


async def test_the_run_s_limits_come_before_the_app_s(store: Store) -> None:
    work = Work()

    def talk(*turns: Any) -> Talk:
        root = agent(ScriptedModel([*turns]), work.dig)
        return Talk(root, store, budget=Budget(max_tool_calls=1, max_tokens=1_000))

    config = RunConfig(budget=Budget(max_tool_calls=2))
    turns = [call("dig"), call("dig"), "Done."]
    assert final_text(await talk(*turns).say(run_config=config)) == "Done."
    made = talk(*turns)
    await check_ended(made, await made.fails(), "max_tool_calls=1")
    made = talk(used(call("dig"), 1_000), "Never said.")
    error = await made.fails(run_config=config)
    await check_ended(made, error, "max_tokens=1000")
    made = talk(used(call("dig"), 1_000), "Never said.")
    alone = RunConfig(budget=Budget(max_tokens=500))
    assert "max_tokens=500" in str(await made.fails(run_config=alone))


async def test_each_invocation_has_the_whole_budget(store: Store) -> None:
    model = ScriptedModel([used("One.", 99), used("Two.", 99), used("Three.", 99)])
    talk = Talk(agent(model), store, budget=Budget(max_tokens=100))
    for text in ("One.", "Two.", "Three."):
        assert final_text(await talk.say()) == text


async def test_streamed_pieces_are_not_counted_twice(store: Store) -> None:
    piece = used("Hel", 60)
    piece.partial = True

    class Streams(ScriptedModel):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            assert stream
            yield piece.model_copy(deep=True)
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    work = Work()
    model = Streams([used(call("dig"), 60), used("Done.", 10)])  # pyright: ignore[reportCallIssue]
    talk = Talk(agent(model, work.dig), store, budget=Budget(max_tokens=100))
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    assert final_text(await talk.say(run_config=config)) == "Done."


async def test_what_was_used_survives_a_pause(store: Store) -> None:
    """The log tells a later process what the invocation has used; waiting is not running."""

    def later() -> None:
        """Take long."""

    work = Work()
    model = ScriptedModel(
        [used(call("dig"), 40), used(call("later"), 60), used("Never asked.", 1)], model="m"
    )
    prices = {"m": Price(input=1_000_000, output=0)}

    def app(budget: Budget) -> App:
        tools = [work.dig, LongRunningFunctionTool(later)]
        config = ResumabilityConfig(is_resumable=True)
        root = agent(model, *tools)
        return App(name="talk", root_agent=root, resumability_config=config, budget=budget)

    first = Talk(app(Budget(max_tokens=1_000)), store)
    paused = await first.say()
    (waiting,) = [c for e in paused for c in e.get_function_calls() if c.name == "later"]
    for budget, used_up in [
        (Budget(max_tokens=100), "100 tokens"),
        (Budget(max_cost=100, prices=prices), "a cost of 100"),
    ]:
        error = await Talk(app(budget), store).fails(answer_to(waiting, {"done": True}))
        assert type(error) is BudgetExceededError
        assert used_up in str(error)
    assert len(model.requests) == 2


async def test_tool_calls_of_before_a_pause_count(store: Store) -> None:
    def later() -> None:
        """Take long."""

    work = Work()
    model = ScriptedModel([call("dig"), call("later"), call("dig"), call("dig")])
    root = agent(model, work.dig, LongRunningFunctionTool(later))
    config = ResumabilityConfig(is_resumable=True)
    app = App(
        name="talk", root_agent=root, resumability_config=config, budget=Budget(max_tool_calls=2)
    )
    paused = await Talk(app, store).say()
    (waiting,) = [c for e in paused for c in e.get_function_calls() if c.name == "later"]
    error = await Talk(app, store).fails(answer_to(waiting, {"done": True}))
    assert "max_tool_calls=2" in str(error)
    assert work.runs == ["dig"]


async def test_nothing_counts_where_no_budget_is_set(store: Store) -> None:
    seen: list[Any] = []

    class Watching(BasePlugin):
        async def before_run_callback(self, *, invocation_context: Any) -> None:
            seen.append(invocation_context.services.budget_usage)

    root, plugins = agent(ScriptedModel(["One.", "Two."])), [Watching(name="watching")]
    await Talk(root, store, plugins=plugins).say()
    await Talk(root, store, plugins=plugins, budget=Budget(max_tokens=5)).say()
    without, with_one = seen
    assert without is None
    assert with_one is not None

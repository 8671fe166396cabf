"""The example agents, whole, over a real model server: llama.cpp's, which calls what tools it is
offered, with arguments at random, and which nobody here wrote."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.evaluation.eval_metrics import (
    EvalMetric,
    EvalStatus,
    JudgeModelOptions,
    LlmAsAJudgeCriterion,
)
from ostinato.evaluation.judge import Judge, forget_verdicts
from ostinato.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from ostinato.events.event import Event
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.registry import LLMRegistry
from ostinato.testing import Conversation, tool_calls
from tests.unit.evaluation.builders import turn
from tests.unit.examples.loading import NAMES, agents_of, example, put_models

from .adapters import CHAT, CLAUDE, RESPONSES, Adapter

pytestmark = pytest.mark.service

ADAPTERS = pytest.mark.parametrize("adapter", [CLAUDE, CHAT, RESPONSES], ids=str)
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
# Two colleagues may hand over to each other for a while before one of them uses a tool.
MOST_CALLS = 60


@pytest.fixture
async def model(adapter: Adapter, llama: str) -> AsyncGenerator[BaseLlm, None]:
    built = adapter.build(llama)
    yield built
    await built.aclose()


def config(stream: bool) -> RunConfig:
    mode = StreamingMode.SSE if stream else StreamingMode.NONE
    return RunConfig(streaming_mode=mode, max_llm_calls=MOST_CALLS)


@ADAPTERS
@STREAMED
@pytest.mark.parametrize("name", NAMES)
async def test_an_example_agent(name: str, stream: bool, model: BaseLlm) -> None:
    with example(name) as module:
        put_models(module.root_agent, lambda _: model)
        tasks = {agent.name for agent in agents_of(module.root_agent) if _takes_tasks(agent)}
        talk = Conversation(module.root_agent)
        for turn in range(2):
            events = await talk.say(f"Question {turn}?", run_config=config(stream))
            check(events, stream, tasks)
            assert talk.text == "Done." or talk.pending()
            if name != "analyst":
                assert tool_calls(events)
            if talk.pending():
                break
        await talk.runner.close()


def _takes_tasks(agent: Any) -> bool:
    return getattr(agent, "mode", None) == "task"


def check(events: list[Event], stream: bool, tasks: Collection[str] = ()) -> None:
    """What holds in any run, whatever the arguments are; tasks may go on in the next one."""
    whole = [event for event in events if not event.partial]
    calls = [call for event in whole for call in event.get_function_calls()]
    answered = {answer.id for event in whole for answer in event.get_function_responses()}
    waiting = {one for event in whole for one in event.long_running_tool_ids or ()}
    assert {call.id for call in calls if call.name not in tasks} <= answered | waiting
    assert all(call.id and call.name for call in calls)
    spoke = any(part.text for e in whole if e.content for part in e.content.parts or ())
    assert any(event.partial for event in events) == (stream and spoke)
    said = [event for event in whole if event.content and event.content.role == "model"]
    assert all(
        e.usage_metadata and e.usage_metadata.prompt_token_count for e in said if e.finish_reason
    )


@ADAPTERS
@STREAMED
async def test_arguments_have_the_declared_types(stream: bool, model: BaseLlm) -> None:
    seen: list[tuple[Any, ...]] = []

    def book(name: str, nights: int, breakfast: bool) -> str:
        """Book a room."""
        seen.append((type(name), type(nights), type(breakfast)))
        return "booked"

    talk = Conversation(LlmAgent(name="desk", model=model, tools=[book]))
    for _ in range(10):  # a string at random may be longer than an answer may be
        events = await talk.say("A room, please.", run_config=config(stream))
        assert talk.text == "Done."
        check(events, stream)
        if len(seen) == 3:
            break
    await talk.runner.close()
    assert set(seen) == {(str, int, bool)}


@ADAPTERS
async def test_a_text_in_pieces_is_the_whole_text(model: BaseLlm) -> None:
    request = LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text="Hello")])])
    got = [r async for r in model.generate_content_async(request, stream=True)]
    texts = ["".join(p.text or "" for p in (r.content and r.content.parts) or []) for r in got]
    assert texts[-1] == "".join(texts[:-1]) == "Done."
    assert got[-1].finish_reason == types.FinishReason.STOP


@ADAPTERS
async def test_a_judge_without_a_verdict_leaves_a_case_open(
    model: BaseLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LLMRegistry, "new_llm", staticmethod(lambda name: model))
    forget_verdicts()
    options = JudgeModelOptions(judge_model="any", num_samples=3)
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=options)
    metric = EvalMetric(metric_name="final_response_match_v2", threshold=0.5, criterion=criterion)
    evaluator = DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric)
    result = await evaluator.evaluate_invocations([turn("q", "a")], [turn("q", "b")])
    assert result.overall_eval_status is EvalStatus.NOT_EVALUATED
    assert await Judge(options).ask("Is it right?") == ["Done."] * 3

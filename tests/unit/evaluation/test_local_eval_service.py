"""The engine: cases run alone and bounded, with history, plugins, mocks, seed and budget."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.apps.app import App
from ostinato.context.budget import Budget, Price
from ostinato.errors import InputValidationError, NotFoundError
from ostinato.evaluation.agent_evaluator import evaluate_set
from ostinato.evaluation.base_eval_service import (
    EvaluateConfig,
    EvaluateRequest,
    InferenceConfig,
    InferenceRequest,
    InferenceResult,
    InferenceStatus,
)
from ostinato.evaluation.case_runner import RunSettings
from ostinato.evaluation.eval_case import SessionInput
from ostinato.evaluation.eval_config import EvalConfig
from ostinato.evaluation.eval_metrics import EvalMetric, EvalStatus
from ostinato.evaluation.evaluator import EvaluationResult
from ostinato.evaluation.in_memory_eval_set_results_manager import InMemoryEvalSetResultsManager
from ostinato.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from ostinato.evaluation.local_eval_service import LocalEvalService
from ostinato.evaluation.metric_evaluator_registry import (
    DEFAULT_METRIC_EVALUATOR_REGISTRY,
    make_registry,
)
from ostinato.events.event import Event
from ostinato.models.llm_response import LlmResponse
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.testing import FunctionModel, call
from ostinato.tools.agent_tool import AgentTool
from ostinato.types import GenerateContentResponseUsageMetadata
from tests.support.optionals import parts_of, present

from .builders import agent, case, eval_set, has_result, recorded, said, text, turn

RESPONSE = EvalConfig(criteria={"response_match_score": 1.0})


def weather(city: str) -> dict[str, Any]:
    """Return the weather."""
    return {"sky": "clear"}


def ask_weather(request: Any) -> Any:
    """Call the tool, then tell its result."""
    if not has_result(request):
        return call("weather", city="Rome")
    response = (request.contents[-1].parts or [])[-1].function_response
    return json.dumps(response.response)


def service_of(root: Any, *cases: Any, **options: Any) -> LocalEvalService:
    sets = InMemoryEvalSetsManager()
    sets.create_eval_set("app", "set")
    for one in cases:
        sets.add_eval_case("app", "set", one)
    return LocalEvalService(root, sets, **options)


def request(*ids: str, **config: Any) -> InferenceRequest:
    return InferenceRequest(
        app_name="app",
        eval_set_id="set",
        eval_case_ids=list(ids),
        inference_config=InferenceConfig(**config),
    )


async def infer(service: LocalEvalService, *ids: str, **config: Any) -> list[InferenceResult]:
    return [one async for one in service.perform_inference(request(*ids, **config))]


async def judge_with(
    service: LocalEvalService, inferences: list[InferenceResult], *metrics: EvalMetric
) -> Any:
    config = EvaluateConfig(eval_metrics=list(metrics))
    evaluate = EvaluateRequest(inference_results=inferences, evaluate_config=config)
    return [one async for one in service.evaluate(evaluate)]


async def test_cases_run_at_once_up_to_the_bound() -> None:
    running, most, gate = 0, 0, asyncio.Event()

    async def answer(_: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            gate.set()
        await gate.wait()  # the first three wait for each other
        running -= 1
        return "done"

    cases = [case(str(number), turn("hi")) for number in range(9)]
    found = await infer(service_of(agent(answer), *cases), parallelism=3)
    assert most == 3
    assert {one.eval_case_id for one in found} == {one.eval_id for one in cases}


async def test_each_case_has_a_session_of_its_own() -> None:
    root = agent(lambda req: str(sum(c.role == "user" for c in req.contents)))
    cases = [case("one", turn("a")), case("two", turn("a"), turn("b"))]
    found = {one.eval_case_id: one for one in await infer(service_of(root, *cases))}
    assert len({one.session_id for one in found.values()}) == 2
    answers = [
        parts_of(present(one.final_response))[0].text for one in present(found["two"].inferences)
    ]
    assert answers == ["1", "2"]


async def test_only_the_chosen_cases_run() -> None:
    service = service_of(agent(lambda _: "x"), case("a", turn()), case("b", turn()))
    assert [one.eval_case_id for one in await infer(service, "b")] == ["b"]


async def test_a_missing_set_is_an_error() -> None:
    service = LocalEvalService(agent(lambda _: "x"), InMemoryEvalSetsManager())
    with pytest.raises(NotFoundError, match="no eval set 'set'"):
        await infer(service)


async def test_a_live_run_is_refused() -> None:
    with pytest.raises(InputValidationError, match="no live conversations"):
        await infer(service_of(agent(lambda _: "x"), case("a", turn())), use_live=True)


async def test_a_case_that_fails_stops_no_other() -> None:
    def answer(req: Any) -> str:
        if said(req) == "break":
            raise RuntimeError("out of order")
        return "fine"

    cases = [case("bad", turn("break")), case("good", turn("hi", "fine"))]
    run = await evaluate_set(agent(answer), eval_set(*cases), RESPONSE)
    found = {one.eval_id: one for one in run.results}
    assert found["good"].final_eval_status is EvalStatus.PASSED
    assert found["bad"].final_eval_status is EvalStatus.FAILED
    assert found["bad"].error_message == "RuntimeError: out of order"


async def test_an_error_event_fails_the_case() -> None:
    root = agent(lambda _: LlmResponse(error_code="BLOCKED", error_message="no"))
    config = EvalConfig(criteria={"tool_trajectory_avg_score": 1.0})
    (result,) = (await evaluate_set(root, eval_set(case("a", turn())), config)).results
    assert result.final_eval_status is EvalStatus.FAILED
    assert "BLOCKED: no" in (result.error_message or "")


async def test_history_comes_before_the_first_message() -> None:
    seen: list[list[str]] = []

    def answer(req: Any) -> str:
        seen.append([part.text for content in req.contents for part in content.parts])
        return "ok"

    past = [
        Event(content=text("user", "I am Ann."), author=""),
        Event(content=text("model", "Hello Ann."), author="", invocation_id="old"),
    ]
    given = SessionInput(app_name="app", user_id="u", state={"k": 1}, events=past)
    (found,) = await infer(service_of(agent(answer), case("a", turn("hi"), session_input=given)))
    assert seen == [["I am Ann.", "Hello Ann.", "hi"]]
    assert found.final_state == {"k": 1}
    assert len(found.inferences or []) == 1


class Shout(BasePlugin):
    """Makes each answer loud."""

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> Any:
        words = llm_response.content.parts[0].text
        return LlmResponse(content=text("model", words.upper()))


async def test_the_plugins_of_an_app_run() -> None:
    app = App(name="app", root_agent=agent(lambda _: "hello"), plugins=[Shout("shout")])
    run = await evaluate_set(app, eval_set(case("a", turn("hi", "HELLO"))), RESPONSE)
    assert run.results[0].final_eval_status is EvalStatus.PASSED


async def test_tools_answer_from_the_case() -> None:
    one = turn("w", '{"sky": "rain"}', [("weather", {"city": "Rome"})])
    mocks = turn(responses=[("weather", {"sky": "rain"})])
    recorded(one).tool_responses = recorded(mocks).tool_responses
    config = EvalConfig.model_validate({**RESPONSE.model_dump(), "tool_mocks": {}})
    run = await evaluate_set(agent(ask_weather, [weather]), eval_set(case("a", one)), config)
    assert run.results[0].final_eval_status is EvalStatus.PASSED


async def test_a_call_without_a_mock_fails_the_case() -> None:
    ran: list[str] = []

    def weather(city: str) -> dict[str, Any]:
        """Return the weather."""
        ran.append(city)
        return {}

    config = EvalConfig.model_validate({**RESPONSE.model_dump(), "tool_mocks": {}})
    run = await evaluate_set(agent(ask_weather, [weather]), eval_set(case("a", turn())), config)
    assert (run.results[0].error_message or "").startswith("The tool 'weather' was called with")
    assert run.results[0].final_eval_status is EvalStatus.FAILED
    assert ran == []
    config = EvalConfig.model_validate({**RESPONSE.model_dump(), "tool_mocks": {"missing": "run"}})
    await evaluate_set(agent(ask_weather, [weather]), eval_set(case("a", turn())), config)
    assert ran == ["Rome"]


def ask_twice(req: Any) -> Any:
    said = [part for content in req.contents for part in content.parts or () if part.function_call]
    return call("weather", city="Rome") if len(said) < 2 else "done"


async def test_a_recorded_response_answers_one_call() -> None:
    one = turn("w", "done", [("weather", {"city": "Rome"})])
    recorded(one).tool_responses = recorded(
        turn(responses=[("weather", {"sky": "rain"})])
    ).tool_responses
    config = EvalConfig.model_validate({**RESPONSE.model_dump(), "tool_mocks": {}})
    run = await evaluate_set(agent(ask_twice, [weather]), eval_set(case("a", one)), config)
    message = run.results[0].error_message or ""
    assert message.startswith("The tool 'weather' was called with")
    assert "were given already (1)" in message
    recorded(one).tool_responses *= 2
    run = await evaluate_set(agent(ask_twice, [weather]), eval_set(case("a", one)), config)
    assert run.results[0].final_eval_status is EvalStatus.PASSED


def fail_to_mock(name: str, args: dict[str, Any]) -> Any:
    raise ValueError("no weather")


async def test_a_mock_function_that_raises_is_told() -> None:
    function = {"source": "function", "function": f"{__name__}.fail_to_mock"}
    config = EvalConfig.model_validate({**RESPONSE.model_dump(), "tool_mocks": function})
    run = await evaluate_set(agent(ask_weather, [weather]), eval_set(case("a", turn())), config)
    assert run.results[0].error_message == "The mock of a tool failed: ValueError: no weather"
    assert run.results[0].final_eval_status is EvalStatus.NOT_EVALUATED


async def mock_weather(name: str, args: dict[str, Any]) -> Any:
    """Answer for every tool; named in a config below."""
    return {"sky": f"{name} in {args['city']}"}


async def test_tools_answer_from_a_function() -> None:
    config = EvalConfig.model_validate(
        {
            "criteria": {"response_match_score": 1.0},
            "tool_mocks": {"source": "function", "function": f"{__name__}.mock_weather"},
        }
    )
    one = case("a", turn("w", '{"sky": "weather in Rome"}'))
    run = await evaluate_set(agent(ask_weather, [weather]), eval_set(one), config)
    assert run.results[0].final_eval_status is EvalStatus.PASSED


async def test_tools_are_recorded_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    mocks = {"source": "cassette", "cassette": str(file)}
    one = case("a", turn("w", '{"sky": "clear"}'))

    def broken(city: str) -> dict[str, Any]:
        """Return the weather."""
        raise AssertionError("the tool ran")

    broken.__name__ = "weather"
    for tool, extra in ((weather, {"record": True}), (broken, {})):
        config = EvalConfig.model_validate(
            {**RESPONSE.model_dump(), "tool_mocks": {**mocks, **extra}}
        )
        run = await evaluate_set(agent(ask_weather, [tool]), eval_set(one), config)
        assert run.results[0].final_eval_status is EvalStatus.PASSED
    assert json.loads(file.read_text())["calls"] == [
        {"name": "weather", "args": {"city": "Rome"}, "response": {"sky": "clear"}}
    ]


@pytest.mark.parametrize(
    ("mocks", "message"),
    [
        ({"source": "function", "function": "no_such.thing"}, "no_such"),
        ({"source": "cassette", "cassette": "no_such_file.json"}, "no recording"),
    ],
)
async def test_mocks_that_cannot_be_loaded_are_refused(mocks: Any, message: str) -> None:
    config = EvalConfig.model_validate({**RESPONSE.model_dump(), "tool_mocks": mocks})
    with pytest.raises(InputValidationError, match=message):
        await evaluate_set(agent(ask_weather, [weather]), eval_set(case("a", turn())), config)


async def test_a_seed_reaches_the_requests() -> None:
    seeds: list[int | None] = []

    def answer(req: Any) -> str:
        seeds.append(req.config.seed)
        return "x"

    settings = RunSettings(seed=7)
    await infer(service_of(agent(answer), case("a", turn()), settings=settings))
    assert seeds == [7]


def priced(_: Any) -> LlmResponse:
    """Answer with a usage of 10 and 5 tokens."""
    usage = GenerateContentResponseUsageMetadata(
        prompt_token_count=10, candidates_token_count=5, total_token_count=15
    )
    return LlmResponse(content=text("model", "x"), usage_metadata=usage)


async def test_a_budget_holds_for_all_cases_together() -> None:
    cases = [case(str(number), turn()) for number in range(3)]
    settings = RunSettings(budget=Budget(max_tokens=30))
    found = await infer(service_of(agent(priced), *cases, settings=settings), parallelism=1)
    assert [one.status for one in found].count(InferenceStatus.SUCCESS) == 2
    failed = [one for one in found if one.status is InferenceStatus.FAILURE]
    assert "max_tokens=30" in (failed[0].error_message or "")


class Closing(BasePlugin):
    """Counts how often it is closed."""

    closed = 0

    async def close(self) -> None:
        self.closed += 1


async def test_runs_share_a_budget_and_plugins() -> None:
    plugin = Closing("closing")
    app = App(name="app", root_agent=agent(priced), plugins=[plugin])
    config = EvalConfig(criteria={"response_match_score": 1.0}, budget=Budget(max_tokens=30))
    run = await evaluate_set(app, eval_set(case("a", turn("hi", "x"))), config, num_runs=3)
    statuses = [one.final_eval_status for one in run.results]
    assert statuses.count(EvalStatus.PASSED) == 2
    assert plugin.closed == 1


async def test_labels_reach_the_requests() -> None:
    labels: list[Any] = []

    def answer(req: Any) -> str:
        labels.append(dict(req.config.labels))
        return "x"

    await infer(service_of(agent(answer), case("a", turn())), labels={"team": "desk"})
    assert labels[0]["team"] == "desk"


async def test_usage_is_measured_and_limited() -> None:
    budget = Budget(prices={"function": Price(input=1_000_000, output=2_000_000)})
    config = EvalConfig(
        criteria={
            "token_usage_v1": 20.0,
            "inference_call_count_v1": 1.0,
            "tool_call_count_v1": 0.0,
            "cost_v1": 19.0,
        },
        budget=budget,
    )
    (result,) = (await evaluate_set(agent(priced), eval_set(case("a", turn())), config)).results
    found = {one.metric_name: one for one in result.overall_eval_metric_results}
    assert found["token_usage_v1"].score == 15
    assert found["cost_v1"].score == 20
    failed = [name for name, one in found.items() if one.eval_status is EvalStatus.FAILED]
    assert failed == ["cost_v1"]


async def test_a_cost_without_a_price_is_no_verdict() -> None:
    config = EvalConfig(criteria={"cost_v1": 1.0})
    (result,) = (await evaluate_set(agent(priced), eval_set(case("a", turn())), config)).results
    (cost,) = result.overall_eval_metric_results
    assert cost.eval_status is EvalStatus.NOT_EVALUATED
    assert "prices of function" in (cost.details.error or "")


async def test_calls_of_an_agent_tool_are_traced() -> None:
    inner = Agent(name="expert", model=FunctionModel(ask_weather), tools=[weather])
    root = agent(
        lambda req: "done" if has_result(req) else call("expert", request="w"), [AgentTool(inner)]
    )
    (found,) = await infer(service_of(root, case("a", turn())))
    (invocation,) = found.inferences or []
    calls = [(one.path, one.name, one.inner) for one in invocation.call_trace or []]
    assert calls == [("helper", "expert", False), ("helper/expert", "weather", True)]
    assert found.usage is not None and found.usage[0].model_calls == 4
    assert set(present(invocation.app_details).agent_details) == {"helper", "expert"}


async def test_two_cases_of_one_id_are_refused() -> None:
    sets = InMemoryEvalSetsManager()
    found = sets.create_eval_set("app", "set")
    found.eval_cases += [case("a", turn()), case("b", turn()), case("a", turn("other"))]
    service = LocalEvalService(agent(lambda _: "x"), sets)
    message = r"eval set 'set': eval_cases\[0\] and eval_cases\[2\] have both the eval_id 'a'"
    with pytest.raises(InputValidationError, match=message):
        await infer(service)


async def test_an_unknown_metric_is_no_verdict() -> None:
    service = service_of(agent(lambda _: "x"), case("a", turn("hi", "x")))
    found = await infer(service)
    metric = EvalMetric(metric_name="response_mach_score", threshold=1.0)
    (result,) = await judge_with(service, found, metric)
    assert result.final_eval_status is EvalStatus.NOT_EVALUATED
    error = result.overall_eval_metric_results[0].details.error
    assert "Did you mean 'response_match_score'" in error


@pytest.mark.parametrize(
    ("name", "threshold", "extra", "message"),
    [
        ("response_match_score", 1.5, {}, "must be from 0 to 1"),
        ("tool_trajectory_avg_score", 1.0, {"match_typ": 1}, "Did you mean 'match_type'"),
    ],
)
def test_a_wrong_criterion_is_refused(
    name: str, threshold: float, extra: Any, message: str
) -> None:
    config = EvalConfig.model_validate({"criteria": {name: {"threshold": threshold, **extra}}})
    criterion: Any = config.criteria[name]
    metric = EvalMetric(metric_name=name, threshold=threshold, criterion=criterion)
    with pytest.raises(InputValidationError, match=message):
        DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric)


def broken_metric(*_: Any) -> Any:
    """Return no result; named in a config below."""
    return 1


async def test_a_custom_metric_must_return_a_result() -> None:
    config = EvalConfig.model_validate(
        {
            "criteria": {"own": 1.0},
            "custom_metrics": {"own": {"code_config": {"name": f"{__name__}.broken_metric"}}},
        }
    )
    (result,) = (
        await evaluate_set(agent(lambda _: "x"), eval_set(case("a", turn())), config)
    ).results
    assert "returned a int" in (result.overall_eval_metric_results[0].details.error or "")
    assert "own" not in {m.metric_name for m in registered()}
    assert "own" in {m.metric_name for m in make_registry(config).get_registered_metrics()}


def registered() -> Any:
    return DEFAULT_METRIC_EVALUATOR_REGISTRY.get_registered_metrics()


async def test_results_are_stored_by_set() -> None:
    store = InMemoryEvalSetResultsManager()
    service = service_of(
        agent(lambda _: "x"), case("a", turn("hi", "x")), eval_set_results_manager=store
    )
    metric = EvalMetric(metric_name="response_match_score", threshold=1.0)
    await judge_with(service, await infer(service), metric)
    (key,) = store.list_eval_set_results("app")
    assert store.get_eval_set_result("app", key).eval_case_results[0].eval_id == "a"


async def test_an_inference_can_be_evaluated_twice() -> None:
    rubric = {"rubric_id": "r", "rubric_content": {"text_property": "x"}}
    one = case("a", turn("hi", "x"), rubrics=[rubric])
    service = service_of(agent(lambda _: "x"), one)
    found = await infer(service)
    metric = EvalMetric(metric_name="response_match_score", threshold=1.0)
    for _ in range(2):
        (result,) = await judge_with(service, found, metric)
        assert result.final_eval_status is EvalStatus.PASSED


def test_a_result_without_scores_has_no_verdict() -> None:
    assert EvaluationResult().overall_eval_status is EvalStatus.NOT_EVALUATED

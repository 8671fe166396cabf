"""A case whose metric could not be evaluated does not pass, whatever its other metrics say."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from ostinato.evaluation.agent_evaluator import AgentEvaluator, evaluate_set
from ostinato.evaluation.case_report import describe_failures, format_score
from ostinato.evaluation.conversation_scenarios import ConversationScenario
from ostinato.evaluation.eval_config import EvalConfig
from ostinato.evaluation.eval_metrics import EvalMetric, EvalStatus
from ostinato.evaluation.eval_result import EvalCaseResult
from ostinato.evaluation.evaluation_run import EvaluationRun
from ostinato.evaluation.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from ostinato.evaluation.report import EvaluationReport, format_summary
from ostinato.evaluation.report_files import format_html, format_junit, format_markdown
from ostinato.evaluation.simulation.static_user_simulator import StaticUserSimulator
from ostinato.evaluation.simulation.user_simulator import BaseUserSimulatorConfig, UserSimulator
from ostinato.evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.models.registry import LLMRegistry
from ostinato.testing import call

from .builders import agent, case, eval_set, said, turn

PASSED, FAILED, OPEN = EvalStatus.PASSED, EvalStatus.FAILED, EvalStatus.NOT_EVALUATED
CHANGING = ("clear_all", "LowersThreshold")


def said_in(invocation: Any) -> str:
    return invocation.final_response.parts[0].text


def raise_error(*_: Any) -> Any:
    raise RuntimeError("no such table")


def exit_program(*_: Any) -> Any:
    raise SystemExit(0)


async def cancel_itself(*_: Any) -> Any:
    raise asyncio.CancelledError


async def exit_late(*_: Any) -> Any:
    await asyncio.sleep(0)
    raise SystemExit(3)


def give_nothing(*_: Any) -> EvaluationResult:
    return EvaluationResult()


def give_nan(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    turns = [PerInvocationResult(actual_invocation=one) for one in actual]
    return EvaluationResult(
        overall_score=float("nan"), overall_eval_status=PASSED, per_invocation_results=turns
    )


def judge_all(
    actual: list[Any],
    score: Any,
    turn_score: Any = 1.0,
    turn_status: EvalStatus = PASSED,
    status: EvalStatus = PASSED,
) -> EvaluationResult:
    turns = [
        PerInvocationResult(actual_invocation=one, score=turn_score, eval_status=turn_status)
        for one in actual
    ]
    return EvaluationResult(
        overall_score=score, overall_eval_status=status, per_invocation_results=turns
    )


def give_infinity(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return judge_all(actual, float("inf"))


def give_minus_infinity(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return judge_all(actual, float("-inf"))


def give_an_infinite_turn(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return judge_all(actual, 1.0, float("inf"))


def pass_without_score(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return judge_all(actual, None, None)


def fail_without_score(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return judge_all(actual, None, None, FAILED, FAILED)


def pass_below_threshold(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return judge_all(actual, 0.0, 0.0, FAILED)


def pass_without_verdicts_of_turns(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return judge_all(actual, 1.0, None, OPEN)


def fail_above_threshold(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return judge_all(actual, 1.0, 1.0, PASSED, FAILED)


def give_unchecked_text(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    return EvaluationResult.model_construct(
        overall_score="1",  # type: ignore[arg-type]
        overall_eval_status="PASSED",  # type: ignore[arg-type]
        per_invocation_results=judge_all(actual, 1.0).per_invocation_results,
    )


def give_an_unchecked_turn(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
    found = judge_all(actual, 1.0)
    found.per_invocation_results = ["yes"]  # type: ignore[list-item]
    return found


class OddExit(BaseException):
    """Neither an Exception nor an exit that Python knows, as pytest.fail() raises it."""


def exit_oddly(*_: Any) -> Any:
    raise OddExit("enough")


def clear_all(metric: Any, actual: list[Any], expected: list[Any], *_: Any) -> EvaluationResult:
    found = judge_all(actual, 1.0)
    for one in [*actual, *expected]:
        one.user_content.parts.clear()
        one.final_response = None
    actual.clear()
    expected.clear()
    return found


class LowersThreshold(Evaluator):
    """Changes the metric that it is given."""

    def __init__(self, eval_metric: EvalMetric) -> None:
        eval_metric.threshold = -1.0
        eval_metric.metric_name = "other"

    def evaluate_invocations(
        self,
        actual_invocations: list[Any],
        expected_invocations: list[Any] | None = None,
        conversation_scenario: Any = None,
    ) -> EvaluationResult:
        return judge_all(actual_invocations, 1.0)


def does_not_apply(*_: Any) -> EvaluationResult:
    return EvaluationResult(not_applicable="The case has no picture.")


def config_of(name: str, **others: Any) -> EvalConfig:
    return EvalConfig.model_validate(
        {
            "criteria": {"own": 0.5, **others},
            "custom_metrics": {"own": {"code_config": {"name": f"{__name__}.{name}"}}},
        }
    )


async def run_one(config: EvalConfig, *cases: Any) -> list[EvalCaseResult]:
    given = cases or (case("a", turn("hi", "hi")),)
    return (await evaluate_set(agent(said), eval_set(*given), config)).results


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raise_error", "RuntimeError: no such table"),
        ("exit_program", "ended with SystemExit(0)"),
        ("exit_late", "ended with SystemExit(3)"),
        ("cancel_itself", "raised CancelledError although its task was not cancelled"),
        ("give_nothing", "The metric gave no verdict."),
        ("give_nan", "The metric's score is nan, which is not a finite number."),
        ("give_infinity", "The metric's score is inf, which is not a finite number."),
        ("give_minus_infinity", "The metric's score is -inf, which is not a finite number."),
        ("give_an_infinite_turn", "The metric's score of turn 1 is inf"),
        ("pass_without_score", "The metric passed the case without a score."),
        ("give_unchecked_text", "must be an EvalStatus, not 'PASSED'"),
        ("give_an_unchecked_turn", "Error: "),
        ("exit_oddly", "raised OddExit, which is not an Exception: enough"),
    ],
)
async def test_a_metric_without_a_verdict_leaves_the_case_open(name: str, reason: str) -> None:
    (result,) = await run_one(config_of(name, response_match_score=1.0))
    found = {one.metric_name: one for one in result.overall_eval_metric_results}
    assert found["response_match_score"].eval_status is PASSED
    assert found["own"].eval_status is OPEN
    assert reason in (found["own"].details.error or "")
    assert result.final_eval_status is OPEN
    (failure,) = describe_failures("a", [result])
    assert reason in failure


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("pass_below_threshold", PASSED),
        ("pass_without_verdicts_of_turns", PASSED),
        ("fail_above_threshold", FAILED),
        ("fail_without_score", FAILED),
    ],
)
async def test_the_verdict_of_a_metric_counts_as_in_google_adk(
    name: str, status: EvalStatus
) -> None:
    (result,) = await run_one(config_of(name))
    assert result.final_eval_status is status
    (found,) = result.overall_eval_metric_results
    assert found.eval_status is status
    shown = format_score(found)
    assert "not evaluated" not in shown
    contradicts = name in ("pass_below_threshold", "fail_above_threshold")
    assert (f"{status.name} by the metric's own verdict" in shown) is contradicts


async def test_a_metric_cannot_change_what_others_see() -> None:
    metrics = {name: {"code_config": {"name": f"{__name__}.{name}"}} for name in CHANGING}
    config = EvalConfig.model_validate(
        {
            "criteria": {**dict.fromkeys(CHANGING, 0.5), "response_match_score": 1.0},
            "custom_metrics": metrics,
        }
    )
    cases = [case(name, turn("hi", "hi"), turn("ho", "ho")) for name in ("a", "b")]
    for result in await run_one(config, *cases):
        found = result.overall_eval_metric_results
        assert [one.metric_name for one in found] == [*CHANGING, "response_match_score"]
        assert [one.threshold for one in found] == [0.5, 0.5, 1.0]
        assert result.final_eval_status is PASSED
        shown = result.eval_metric_result_per_invocation
        assert [one.expected_invocation for one in shown] == [turn("hi", "hi"), turn("ho", "ho")]
        assert [said_in(one.actual_invocation) for one in shown] == ["hi", "ho"]


async def test_an_agent_that_exits_oddly_fails_its_case_alone() -> None:
    def answer(request: LlmRequest) -> str:
        if said(request) == "odd":
            raise OddExit("enough")
        return said(request)

    cases = [case("odd", turn("odd", "odd")), case("good", turn("hi", "hi"))]
    run = await evaluate_set(
        agent(answer), eval_set(*cases), EvalConfig(criteria={"response_match_score": 1.0})
    )
    results = {one.eval_id: one for one in run.results}
    assert "raised OddExit" in (results["odd"].error_message or "")
    assert results["odd"].final_eval_status is FAILED
    assert results["good"].final_eval_status is PASSED


async def test_a_metric_that_does_not_apply_leaves_the_verdict_to_the_others() -> None:
    (result,) = await run_one(config_of("does_not_apply", response_match_score=1.0))
    assert result.final_eval_status is PASSED
    assert describe_failures("a", [result]) == []
    (alone,) = await run_one(config_of("does_not_apply"))
    assert alone.final_eval_status is OPEN
    assert describe_failures("a", [alone]) == ["a: no metric applies to the case"]
    report = EvaluationReport.from_run(EvaluationRun([alone]))
    assert report.cases[0].errors == ["no metric applies to the case"]


async def test_comparisons_do_not_apply_to_a_scenario_or_a_case_without_a_state() -> None:
    scenario = case("a")
    scenario.conversation = None
    scenario.conversation_scenario = ConversationScenario(
        starting_prompt="hi", conversation_plan="Say hi."
    )
    criteria = {
        "tool_trajectory_avg_score": 1.0,
        "response_match_score": 1.0,
        "tool_call_count_v1": 9,
    }
    config = EvalConfig.model_validate(
        {"criteria": criteria, "user_simulator_config": {"max_allowed_invocations": 1}}
    )
    (result,) = await run_one(config, scenario)
    found = {one.metric_name: one for one in result.overall_eval_metric_results}
    for name in ("tool_trajectory_avg_score", "response_match_score"):
        assert "scenario" in (found[name].details.not_applicable or "")
        assert not found[name].details.error
    assert result.final_eval_status is PASSED
    config = EvalConfig(criteria={"final_session_state_v1": 1.0, "response_match_score": 1.0})
    (plain,) = await run_one(config)
    assert plain.final_eval_status is PASSED


async def test_the_report_counts_it_apart() -> None:
    config = config_of("raise_error", response_match_score=1.0)
    cases = [case("open", turn("hi", "hi")), case("bad", turn("hi", "no"))]
    report = EvaluationReport.from_run(EvaluationRun(await run_one(config, *cases)))
    numbers = {name: report.measure(name) for name in ("failed", "errors", "pass_rate")}
    assert numbers == {"failed": 2, "errors": 2, "pass_rate": 0}
    assert "1 could not be evaluated" in format_summary(report)
    suite = ET.fromstring(format_junit(report)).find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")
    assert {one.get("name"): one[0].tag for one in suite} == {"open": "error", "bad": "failure"}
    assert "| `set: open` | ⚠️ |" in format_markdown(report)
    assert "<b class='NOT_EVALUATED'>NOT_EVALUATED</b> set: open" in format_html(report)


class ExitingModel(BaseLlm):
    """A model whose request ends the program."""

    model: str = "exiting-1"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        raise SystemExit(0)
        yield

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["exiting-.*"]


@pytest.fixture
def exiting() -> Iterator[None]:
    LLMRegistry.register(ExitingModel)
    yield
    LLMRegistry.unregister(ExitingModel)


def judged(name: str, model: str = "judge-1", **fields: Any) -> EvalConfig:
    options = {"judge_model": model, "num_samples": 1}
    criterion = {"threshold": 0.1, "judge_model_options": options, **fields}
    return EvalConfig.model_validate({"criteria": {name: criterion, "response_match_score": 1.0}})


async def test_a_judge_that_ends_the_program_is_an_error_of_its_case(exiting: None) -> None:
    (result,) = await run_one(judged("final_response_match_v2", "exiting-1"))
    (verdict, _) = result.overall_eval_metric_results
    assert "The judge model 'exiting-1' ended with SystemExit(0)" in (verdict.details.error or "")
    assert result.final_eval_status is OPEN


def rubric(name: str) -> dict[str, Any]:
    return {"rubric_id": name, "rubric_content": {"text_property": f"It is {name}."}}


YES = "Property: It is short.\nRationale: r\nVerdict: yes\n"
SENTENCE = "<sentence>hi</sentence>"


@pytest.mark.parametrize(
    ("name", "fields", "answers", "gap"),
    [
        ("final_response_match_v2", {}, ['"is_the_agent_response_valid": "valid"', "?"], "turn 2"),
        (
            "rubric_based_final_response_quality_v1",
            {"rubrics": [rubric("short"), rubric("polite")]},
            [YES + YES.replace("short", "polite"), YES],
            "turn 2 (rubric 'polite')",
        ),
        (
            "hallucinations_v1",
            {},
            [SENTENCE, "sentence: s\nlabel: supported", SENTENCE, "?"],
            "turn 2",
        ),
    ],
)
async def test_a_turn_without_a_verdict_of_the_judge_leaves_the_case_open(
    judge: Any, name: str, fields: Any, answers: list[str], gap: str
) -> None:
    left = list(answers)
    judge.answer = lambda prompt: left.pop(0)
    two = case("a", turn("hi", "hi"), turn("ho", "ho"))
    (result,) = await run_one(judged(name, **fields), two)
    verdict = result.overall_eval_metric_results[0]
    said = ": '?'" if name == "final_response_match_v2" else ""
    assert verdict.details.error == f"The judge gave no verdict on {gap}{said}."
    assert (verdict.eval_status, result.final_eval_status) == (OPEN, OPEN)
    assert verdict.score == 1.0
    turns = [one.eval_metric_results[0].score for one in result.eval_metric_result_per_invocation]
    assert turns[0] == 1.0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I cannot\nhelp with that.", "'I cannot help with that.'"),
        ("x" * 300, f"'{'x' * 99}…'"),
        ("", "an empty answer"),
        (LlmResponse(error_code="SAFETY", error_message="blocked"), "SAFETY: blocked"),
    ],
)
async def test_what_a_judge_says_in_place_of_a_verdict_is_named(
    judge: Any, answer: Any, reason: str
) -> None:
    judge.answer = lambda prompt: answer
    (result,) = await run_one(judged("final_response_match_v2"))
    error = result.overall_eval_metric_results[0].details.error
    assert error == f"The judge gave no verdict on turn 1: {reason}."


async def test_the_end_of_a_scenario_needs_a_verdict_too(judge: Any) -> None:
    judge.answer = lambda prompt: "no idea"
    scenario = case("a")
    scenario.conversation = None
    scenario.conversation_scenario = ConversationScenario(
        starting_prompt="hi", conversation_plan="Say hi."
    )
    config = judged("per_turn_user_simulator_quality_v1")
    config.user_simulator_config = BaseUserSimulatorConfig.model_validate(
        {"max_allowed_invocations": 1}
    )
    (result,) = await run_one(config, scenario)
    error = result.overall_eval_metric_results[0].details.error
    assert error == "The judge gave no verdict on the end."
    assert result.final_eval_status is OPEN


class ExitingUser(UserSimulator):
    """A simulated user that ends the program, or cancels itself."""

    def __init__(self, abort: BaseException) -> None:
        super().__init__(BaseUserSimulatorConfig(), config_type=BaseUserSimulatorConfig)
        self.abort = abort

    async def get_next_user_message(self, events: Any) -> Any:
        raise self.abort


def answer_nothing(name: str, args: dict[str, Any]) -> Any:
    raise SystemExit(0)


@pytest.mark.parametrize("abort", [SystemExit(0), asyncio.CancelledError()])
async def test_a_simulated_user_that_ends_the_program_leaves_its_case_open(
    abort: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = iter([ExitingUser(abort), StaticUserSimulator(static_conversation=[turn("hi", "hi")])])
    monkeypatch.setattr(UserSimulatorProvider, "provide", lambda self, case: next(given))
    config = EvalConfig(criteria={"response_match_score": 1.0})
    cases = [case("a", turn("hi", "hi")), case("b", turn("hi", "hi"))]
    results = {one.eval_id: one for one in await run_one(config, *cases)}
    assert type(abort).__name__ in (results["a"].error_message or "")
    assert results["a"].final_eval_status is OPEN
    assert describe_failures("a", [results["a"]])[0].startswith("a: the case could not be run: ")
    assert results["b"].final_eval_status is PASSED


async def test_a_mock_that_ends_the_program_leaves_its_case_open() -> None:
    def look(city: str) -> str:
        """Look."""
        return "seen"

    config = EvalConfig.model_validate(
        {
            "criteria": {"response_match_score": 1.0},
            "tool_mocks": {"source": "function", "function": f"{__name__}.answer_nothing"},
        }
    )
    root = agent(lambda request: [call("look", city="Rome"), call("look", city="Bonn")], [look])
    run = await evaluate_set(root, eval_set(case("a", turn("hi", "hi"))), config)
    assert "ended with SystemExit(0)" in (run.results[0].error_message or "")
    assert run.results[0].final_eval_status is OPEN


async def test_one_run_without_a_verdict_fails_the_test() -> None:
    calls: list[int] = []

    def fail_once(metric: Any, actual: list[Any], *_: Any) -> EvaluationResult:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("busy")
        turns = [
            PerInvocationResult(actual_invocation=one, score=1.0, eval_status=PASSED)
            for one in actual
        ]
        return EvaluationResult(
            overall_score=1.0, overall_eval_status=PASSED, per_invocation_results=turns
        )

    globals()["fail_once"] = fail_once
    with pytest.raises(AssertionError, match="own could not be evaluated: RuntimeError: busy"):
        await AgentEvaluator.evaluate_eval_set(
            agent(said), eval_set(case("a", turn("hi", "hi"))), eval_config=config_of("fail_once")
        )

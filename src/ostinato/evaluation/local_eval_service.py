"""LocalEvalService: runs cases with an agent of this process, and evaluates them."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from .. import _clock
from .._aborted_tool import as_code_error
from .._log import get_logger
from ..artifacts.base_artifact_service import BaseArtifactService
from ..errors import InputValidationError, NotFoundError
from ..memory.base_memory_service import BaseMemoryService
from ..sessions.base_session_service import BaseSessionService
from ..sessions.in_memory_session_service import InMemorySessionService
from .base_eval_service import (
    BaseEvalService,
    EvaluateRequest,
    InferenceRequest,
    InferenceResult,
    InferenceStatus,
)
from .case_runner import (
    DEFAULT_USER,
    CaseNotRunError,
    CaseRunner,
    RunSettings,
    blame_evaluation,
)
from .eval_case import EvalCase
from .eval_metrics import (
    EvalMetric,
    EvalMetricResult,
    EvalMetricResultDetails,
    EvalMetricResultPerInvocation,
)
from .eval_result import EvalCaseResult
from .eval_rubrics import RubricScore
from .eval_set import describe_repeated_id
from .eval_set_results_manager import EvalSetResultsManager
from .eval_sets_manager import EvalSetsManager
from .evaluator import (
    CaseEvaluator,
    CaseOutcome,
    EvalStatus,
    EvaluationResult,
    NotApplicableError,
)
from .final_state_evaluator import FINAL_STATE_METRIC
from .metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY, MetricEvaluatorRegistry
from .rubric_scopes import add_rubrics_of_case
from .simulation.user_simulator_provider import UserSimulatorProvider
from .tool_mocks import MissingMockError, find_mock_error
from .turn_usage import add_usage

logger = get_logger(__name__)

EVAL_SESSION_ID_PREFIX = "___eval___session___"

_T = TypeVar("_T")
_R = TypeVar("_R")


def _get_session_id() -> str:
    return f"{EVAL_SESSION_ID_PREFIX}{_clock.new_id()}"


class LocalEvalService(BaseEvalService):
    """Runs the cases of eval sets with an agent, each in a session of its own.

    Args:
      root_agent: the agent, or an App, whose plugins and settings then count.
      eval_sets_manager: the eval sets.
      metric_evaluator_registry: the metrics; the built-in ones by default.
      session_service, artifact_service, memory_service: in memory by default.
      eval_set_results_manager: stores the results of `evaluate`, if given.
      session_id_supplier: makes the id of each session.
      user_simulator_provider: makes the user of each case.
      settings: mocks of tools, seed and budget.
    """

    def __init__(
        self,
        root_agent: Any,
        eval_sets_manager: EvalSetsManager,
        metric_evaluator_registry: MetricEvaluatorRegistry | None = None,
        session_service: BaseSessionService | None = None,
        artifact_service: BaseArtifactService | None = None,
        eval_set_results_manager: EvalSetResultsManager | None = None,
        session_id_supplier: Callable[[], str] = _get_session_id,
        user_simulator_provider: UserSimulatorProvider | None = None,
        memory_service: BaseMemoryService | None = None,
        *,
        settings: RunSettings | None = None,
    ) -> None:
        self._agent = root_agent
        self._sets = eval_sets_manager
        self._registry = metric_evaluator_registry or DEFAULT_METRIC_EVALUATOR_REGISTRY
        self._session_service = session_service or InMemorySessionService()
        self._artifact_service = artifact_service
        self._memory_service = memory_service
        self._results = eval_set_results_manager
        self._new_session_id = session_id_supplier
        self._simulators = user_simulator_provider or UserSimulatorProvider()
        self._settings = settings or RunSettings()
        self._runner: CaseRunner | None = None
        self._users = 0  # blocks that hold the runner; the last one closes it

    async def perform_inference(
        self, inference_request: InferenceRequest
    ) -> AsyncGenerator[InferenceResult, None]:
        """Run cases, and yield each result when it is there; a case that fails stops no other.

        Raises:
          NotFoundError: the set or a case does not exist.
          InputValidationError: a live run is asked for, or two cases have the same id.
        """
        config = inference_request.inference_config
        if config.use_live:
            raise InputValidationError(
                "LocalEvalService runs no live conversations; leave use_live out."
            )
        cases = self.select_cases(inference_request)

        async with self.keep_open() as runner:
            runner.observer.labels = config.labels

            async def run_one(case: EvalCase) -> InferenceResult:
                return await self._run_case(runner, inference_request, case)

            async for result in _run_bounded(run_one, cases, config.parallelism):
                yield result

    @asynccontextmanager
    async def keep_open(self) -> AsyncGenerator[CaseRunner]:
        """Share one runner, and so one budget, among the requests of a block; plugins, toolsets and
        models are closed at its end."""
        if self._runner is None:
            self._runner = CaseRunner(
                self._agent,
                self._session_service,
                self._artifact_service,
                self._memory_service,
                self._settings,
            )
        runner = self._runner
        self._users += 1
        try:
            yield runner
        finally:
            self._users -= 1
            if not self._users:
                self._runner = None
                await runner.close()

    async def evaluate(
        self, evaluate_request: EvaluateRequest
    ) -> AsyncGenerator[EvalCaseResult, None]:
        """Evaluate inferences, yield each result when it is there, then store them all.

        Raises:
          NotFoundError: a case does not exist any more.
        """
        config = evaluate_request.evaluate_config

        async def evaluate_one(
            inference: InferenceResult,
        ) -> tuple[InferenceResult, EvalCaseResult]:
            return inference, await self._evaluate_case(inference, config.eval_metrics)

        by_set: dict[tuple[str, str], list[EvalCaseResult]] = {}
        inferences = evaluate_request.inference_results
        try:
            async for inference, result in _run_bounded(
                evaluate_one, inferences, config.parallelism
            ):
                key = (inference.app_name, inference.eval_set_id)
                by_set.setdefault(key, []).append(result)
                yield result
        finally:
            if self._results is not None:
                for (app_name, eval_set_id), results in by_set.items():
                    self._results.save_eval_set_result(app_name, eval_set_id, results)

    async def run_and_evaluate(
        self, request: InferenceRequest, case: EvalCase, metrics: list[EvalMetric]
    ) -> EvalCaseResult:
        """Run a case, and evaluate it at once; the result is not stored.

        Args:
          request: names the app and the set.
          case: the case.
          metrics: the metrics.

        Raises:
          NotFoundError: the case does not exist any more.
        """
        async with self.keep_open() as runner:
            inference = await self._run_case(runner, request, case)
            return await self._evaluate_case(inference, metrics)

    def select_cases(self, request: InferenceRequest) -> list[EvalCase]:
        """Return the cases that a request names, or all of its set.

        Args:
          request: the request.

        Raises:
          NotFoundError: the set does not exist.
          InputValidationError: two cases have the same id.
        """
        eval_set = self._sets.get_eval_set(request.app_name, request.eval_set_id)
        if eval_set is None:
            raise NotFoundError(
                f"There is no eval set {request.eval_set_id!r} of the app {request.app_name!r}."
            )
        repeated = describe_repeated_id(eval_set.eval_cases)  # a set in memory may have grown
        if repeated:
            raise InputValidationError(f"The eval set {request.eval_set_id!r}: {repeated}")
        wanted = request.eval_case_ids
        if not wanted:
            return eval_set.eval_cases
        return [case for case in eval_set.eval_cases if case.eval_id in wanted]

    async def _run_case(
        self, runner: CaseRunner, request: InferenceRequest, case: EvalCase
    ) -> InferenceResult:
        session_id = self._new_session_id()
        if case.session_input is not None and case.session_input.session_id:
            session_id = case.session_input.session_id
        result = InferenceResult(
            app_name=request.app_name,
            eval_set_id=request.eval_set_id,
            eval_case_id=case.eval_id,
            session_id=session_id,
        )
        try:
            with blame_evaluation("The simulated user"):
                user = self._simulators.provide(case)
            run = await runner.run_case(case, user, session_id, app_name=request.app_name)
        except BaseException as raised:  # boundary: a case that fails must not stop the others
            return _fail_inference(result, as_code_error(raised, "Code of the case"))
        result.status = InferenceStatus.SUCCESS
        result.inferences, result.usage = run.invocations, run.usage
        result.final_state = run.final_state
        return result

    async def _evaluate_case(
        self, inference: InferenceResult, metrics: list[EvalMetric]
    ) -> EvalCaseResult:
        case = self._sets.get_eval_case(
            inference.app_name, inference.eval_set_id, inference.eval_case_id
        )
        if case is None:
            raise NotFoundError(
                f"There is no case {inference.eval_case_id!r} in the eval set "
                f"{inference.eval_set_id!r} of the app {inference.app_name!r}."
            )
        user_id = (case.session_input.user_id if case.session_input else "") or DEFAULT_USER
        result = EvalCaseResult(
            eval_set_file=inference.eval_set_id,
            eval_set_id=inference.eval_set_id,
            eval_id=case.eval_id,
            final_eval_status=EvalStatus.NOT_EVALUATED
            if inference.status is InferenceStatus.UNKNOWN
            else EvalStatus.FAILED,
            overall_eval_metric_results=[],
            eval_metric_result_per_invocation=[],
            session_id=inference.session_id or "",
            session_details=await self._load_session(inference, case, user_id),
            user_id=user_id,
            error_message=inference.error_message,
            usage=add_usage(inference.usage) if inference.usage is not None else None,
        )
        if inference.inferences is None:
            return result
        turns = case.conversation
        if turns is not None and len(turns) != len(inference.inferences):
            result.error_message = (
                f"The case has {len(turns)} turns, and {len(inference.inferences)} were run."
            )
            return result
        await self._evaluate_metrics(case, inference, metrics, result)
        return result

    async def _load_session(self, inference: InferenceResult, case: EvalCase, user_id: str) -> Any:
        if not inference.session_id:
            return None
        app_name = case.session_input.app_name if case.session_input is not None else ""
        return await self._session_service.get_session(
            app_name=app_name or inference.app_name,
            user_id=user_id,
            session_id=inference.session_id,
        )

    async def _evaluate_metrics(
        self,
        case: EvalCase,
        inference: InferenceResult,
        metrics: list[EvalMetric],
        result: EvalCaseResult,
    ) -> None:
        # Rubrics are added to copies: an inference may be evaluated more than once.
        actual = [one.model_copy(deep=True) for one in inference.inferences or ()]
        try:
            add_rubrics_of_case(case, actual)
        except InputValidationError as error:
            result.final_eval_status = EvalStatus.NOT_EVALUATED
            result.error_message = str(error)
            return
        outcome = CaseOutcome.model_construct(
            eval_case=case,
            invocations=actual,
            final_state=inference.final_state,
            usage=inference.usage,
        )
        turns = case.conversation
        result.eval_metric_result_per_invocation = [
            EvalMetricResultPerInvocation(
                actual_invocation=one, expected_invocation=turns[number] if turns else None
            )
            for number, one in enumerate(actual)
        ]
        for metric in _with_final_state(case, metrics):
            overall, *by_turn = await self._evaluate_metric(metric, outcome)
            result.overall_eval_metric_results.append(overall)
            for turn, one in zip(result.eval_metric_result_per_invocation, by_turn, strict=True):
                turn.eval_metric_results.append(one)
        result.final_eval_status = get_final_status(result.overall_eval_metric_results)

    async def _evaluate_metric(
        self, metric: EvalMetric, outcome: CaseOutcome
    ) -> list[EvalMetricResult]:
        """Return the result of a metric for the case, and behind it one for each turn."""
        turns = len(outcome.invocations)
        try:
            found = await self._ask_evaluator(metric, outcome)
            return _make_results(metric, *_check_result(found, turns), turns)
        except NotApplicableError as reason:
            found = EvaluationResult(not_applicable=str(reason))
            return _make_results(metric, found, None, turns)
        except BaseException as raised:  # boundary: a metric that fails must not stop the others
            error = as_code_error(raised, f"The metric {metric.metric_name!r}")
        eval_id = outcome.eval_case.eval_id
        logger.warning(
            "The metric %s of the case %r failed: %s", metric.metric_name, eval_id, error
        )
        return _make_results(metric, EvaluationResult(), f"{type(error).__name__}: {error}", turns)

    async def _ask_evaluator(self, metric: EvalMetric, outcome: CaseOutcome) -> EvaluationResult:
        # A metric gets copies: what it changes must not reach the others.
        metric, outcome = metric.model_copy(deep=True), outcome.model_copy(deep=True)
        case = outcome.eval_case
        evaluator = self._registry.get_evaluator(metric)
        found: Any
        if isinstance(evaluator, CaseEvaluator):
            found = evaluator.evaluate_case(outcome)
        else:
            found = evaluator.evaluate_invocations(
                actual_invocations=outcome.invocations,
                expected_invocations=case.conversation,
                conversation_scenario=case.conversation_scenario,
            )
        if inspect.isawaitable(found):
            found = await found
        if not isinstance(found, EvaluationResult):
            raise TypeError(
                f"The metric {metric.metric_name!r} returned a {type(found).__name__}; it "
                "must return an EvaluationResult."
            )
        return found


def _fail_inference(result: InferenceResult, error: Exception) -> InferenceResult:
    """Return the inference with what ended it: the agent, or the evaluation's own parts."""
    logger.warning("The case %r failed: %s", result.eval_case_id, error)
    mock = find_mock_error(error)
    result.status = InferenceStatus.FAILURE
    result.error_message = f"{type(error).__name__}: {error}"
    if isinstance(mock, MissingMockError):  # a call that the case does not expect
        result.error_message = str(mock)
    elif mock is not None:
        result.status = InferenceStatus.UNKNOWN
        result.error_message = f"The mock of a tool failed: {type(mock).__name__}: {mock}"
    elif isinstance(error, CaseNotRunError):
        result.status = InferenceStatus.UNKNOWN
        result.error_message = str(error)
    return result


def _check_result(found: EvaluationResult, turns: int) -> tuple[EvaluationResult, str | None]:
    """Return a metric's result, and what could not be evaluated, if anything."""
    status, score = found.overall_eval_status, found.overall_score
    if not isinstance(status, EvalStatus):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"overall_eval_status must be an EvalStatus, not {status!r}.")
    if status is EvalStatus.NOT_EVALUATED:
        no_verdict = None if found.not_applicable else "The metric gave no verdict."
        return found, found.problem or no_verdict
    given = len(found.per_invocation_results)
    if given != turns:
        return EvaluationResult(), f"The metric returned {given} results for {turns} invocations."
    scores = {"score": score} | {
        f"score of turn {number}": one.score
        for number, one in enumerate(found.per_invocation_results, 1)
    }
    for name, one in scores.items():
        if one is not None and not math.isfinite(one):
            return (
                EvaluationResult(),
                f"The metric's {name} is {one}, which is not a finite number.",
            )
    if status is EvalStatus.PASSED and score is None:
        return EvaluationResult(), "The metric passed the case without a score."
    return found, found.problem or None


def _with_final_state(case: EvalCase, metrics: list[EvalMetric]) -> list[EvalMetric]:
    """Add the comparison of the final state for a case that expects one."""
    if not case.final_session_state or any(m.metric_name == FINAL_STATE_METRIC for m in metrics):
        return metrics
    return [*metrics, EvalMetric(metric_name=FINAL_STATE_METRIC, threshold=1.0)]


def _make_results(
    metric: EvalMetric, found: EvaluationResult, error: str | None, turns: int
) -> list[EvalMetricResult]:
    """Return the result of a metric for the case, and behind it one for each turn."""
    status = found.overall_eval_status
    if error and status is EvalStatus.PASSED:  # of what has a score
        status = EvalStatus.NOT_EVALUATED
    overall = _metric_result(
        metric, found.overall_score, status, found.overall_rubric_scores, error
    )
    overall.details.not_applicable = found.not_applicable or None
    if found.overall_eval_status is EvalStatus.NOT_EVALUATED:
        nothing = _metric_result(metric, None, EvalStatus.NOT_EVALUATED, None, error)
        return [overall, *(nothing.model_copy(deep=True) for _ in range(turns))]
    return [
        overall,
        *(
            _metric_result(metric, one.score, one.eval_status, one.rubric_scores, error)
            for one in found.per_invocation_results
        ),
    ]


def _metric_result(
    metric: EvalMetric,
    score: float | None,
    status: EvalStatus,
    rubric_scores: list[RubricScore] | None,
    error: str | None,
) -> EvalMetricResult:
    return EvalMetricResult(
        metric_name=metric.metric_name,
        threshold=metric.threshold,
        criterion=metric.criterion,
        custom_function_path=metric.custom_function_path,
        score=score,
        eval_status=status,
        details=EvalMetricResultDetails(rubric_scores=rubric_scores, error=error),
    )


def get_final_status(results: list[EvalMetricResult]) -> EvalStatus:
    """Return the verdict of a case.

    Args:
      results: one result for each metric.

    Returns:
      FAILED if a metric failed; NOT_EVALUATED if one that applies could not be evaluated, or none
      applies; else PASSED.
    """
    found = {one.eval_status for one in results}
    if EvalStatus.FAILED in found:
        return EvalStatus.FAILED
    is_open = any(one.lacks_verdict for one in results)
    return (
        EvalStatus.PASSED
        if EvalStatus.PASSED in found and not is_open
        else (EvalStatus.NOT_EVALUATED)
    )


async def _run_bounded(
    work: Callable[[_T], Awaitable[_R]], items: list[_T], limit: int
) -> AsyncGenerator[_R, None]:
    """Do some work for each item, at most `limit` at once, and yield results as they come."""
    gate = asyncio.Semaphore(limit)

    async def do_one(item: _T) -> _R:
        async with gate:
            return await work(item)

    tasks = [asyncio.ensure_future(do_one(item)) for item in items]
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

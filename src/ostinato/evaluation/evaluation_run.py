"""One evaluation: cases run, evaluated as they come, several times if wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from .base_eval_service import InferenceConfig, InferenceRequest
from .eval_case import EvalCase
from .eval_metrics import EvalMetric
from .eval_result import EvalCaseResult
from .local_eval_service import LocalEvalService


@dataclass(slots=True)
class EvaluationPlan:
    """What to evaluate.

    Attributes:
      app_name: the app.
      sets: by id of a set, the cases; all if empty.
      metrics: the metrics.
      num_runs: how often each case runs.
      parallelism: how many cases run at once.
    """

    app_name: str
    sets: dict[str, list[str]]
    metrics: list[EvalMetric]
    num_runs: int = 1
    parallelism: int = 4


@dataclass(slots=True)
class EvaluationRun:
    """The results of an evaluation so far.

    Attributes:
      results: one result for each run of a case, as they came.
      interrupted: whether it was cancelled before its end.
    """

    results: list[EvalCaseResult] = field(default_factory=list[EvalCaseResult])
    interrupted: bool = False

    def by_case(self) -> dict[tuple[str, str], list[EvalCaseResult]]:
        """Return the results by set and case."""
        found: dict[tuple[str, str], list[EvalCaseResult]] = {}
        for result in self.results:
            found.setdefault((result.eval_set_id, result.eval_id), []).append(result)
        return found

    def by_set(self) -> dict[str, list[EvalCaseResult]]:
        """Return the results by set."""
        found: dict[str, list[EvalCaseResult]] = {}
        for result in self.results:
            found.setdefault(result.eval_set_id, []).append(result)
        return found


async def run_evaluation(
    service: LocalEvalService,
    plan: EvaluationPlan,
    on_result: Callable[[EvalCaseResult], None] | None = None,
    run: EvaluationRun | None = None,
) -> EvaluationRun:
    """Run and evaluate cases; a case is evaluated as soon as it has run, before another one begins.

    Args:
      service: runs and evaluates; it should not store results itself.
      plan: what to evaluate.
      on_result: called with each result.
      run: receives the results, so that they are there after a cancellation.

    Raises:
      NotFoundError: a set does not exist.
    """
    run = run or EvaluationRun()
    gate = asyncio.Semaphore(plan.parallelism)

    async def evaluate_one(request: InferenceRequest, case: EvalCase) -> None:
        async with gate:
            result = await service.run_and_evaluate(request, case, plan.metrics)
            run.results.append(result)
            if on_result is not None:
                on_result(result)

    async with service.keep_open():
        tasks = [
            asyncio.create_task(evaluate_one(request, case))
            for request, case in _list_cases(service, plan)
        ]
        try:
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            run.interrupted = True
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return run


def _list_cases(
    service: LocalEvalService, plan: EvaluationPlan
) -> list[tuple[InferenceRequest, EvalCase]]:
    """Return each case as often as it runs, with its request."""
    requests = [
        InferenceRequest(
            app_name=plan.app_name,
            eval_set_id=eval_set_id,
            eval_case_ids=cases,
            inference_config=InferenceConfig(),
        )
        for eval_set_id, cases in plan.sets.items()
    ]
    found = [(one, case) for one in requests for case in service.select_cases(one)]
    return found * plan.num_runs

"""Metrics of the user's own: a function, or a class derived from Evaluator."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..agent_files.code_names import CodeNameError, CodeRules
from .conversation_scenarios import ConversationScenario as ConversationScenario
from .eval_case import Invocation as Invocation
from .eval_metrics import EvalMetric as EvalMetric
from .evaluator import EvaluationResult as EvaluationResult
from .evaluator import Evaluator as Evaluator


def load_metric_function(custom_function_path: str) -> Callable[..., Any]:
    """Import the function or class of a custom metric.

    Args:
      custom_function_path: dotted name, such as `my_agent.metrics.is_polite`.

    Raises:
      ImportError: the name does not exist, or is neither a function nor a class.
    """
    try:
        found = CodeRules().resolve(custom_function_path)
    except CodeNameError as error:
        raise ImportError(f"The custom metric cannot be loaded: {error}") from error
    if not callable(found):
        raise ImportError(
            f"The custom metric {custom_function_path!r} is a {type(found).__name__}, not a "
            "function."
        )
    return found


class CustomMetricEvaluator(Evaluator):
    """Evaluates with a function of (metric, actual, expected, scenario) that returns an
    EvaluationResult; it may be async.

    Args:
      eval_metric: the metric.
      custom_function_path: dotted name of the function, or of an Evaluator class.

    Raises:
      ImportError: there is no such function.
    """

    def __init__(self, eval_metric: EvalMetric, custom_function_path: str) -> None:
        self._metric = eval_metric
        self._path = custom_function_path
        self._function = load_metric_function(custom_function_path)

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Return what the function returns.

        Raises:
          TypeError: the function did not return an EvaluationResult.
        """
        given = (actual_invocations, expected_invocations, conversation_scenario)
        function: Any = self._function
        result: Any
        if _is_evaluator(self._function):
            result = function(eval_metric=self._metric).evaluate_invocations(*given)
        else:
            metric = self._metric.model_copy(deep=True, update={"threshold": None})
            result = function(metric, *given)
        if inspect.isawaitable(result):
            result = await result
        if not isinstance(result, EvaluationResult):
            raise TypeError(
                f"The custom metric {self._path!r} returned a {type(result).__name__}; it must "
                "return an EvaluationResult."
            )
        return result


def _is_evaluator(function: Any) -> bool:
    return isinstance(function, type) and issubclass(function, Evaluator)

"""`per_turn_user_simulator_quality_v1`: whether a simulated user followed its scenario."""

from __future__ import annotations

import re
from typing import ClassVar

from ... import types
from ..conversation_scenarios import ConversationScenario
from ..eval_case import Invocation
from ..eval_metrics import EvalMetric, LlmBackedUserSimulatorCriterion
from ..evaluator import (
    EvalStatus,
    EvaluationResult,
    Evaluator,
    NotApplicableError,
    PerInvocationResult,
    compare_score,
)
from ..judge import Judge
from ..llm_as_judge import read_criterion, take_majority
from ..llm_as_judge_utils import Label, get_text_from_content, read_label
from .per_turn_user_simulator_quality_prompts import get_per_turn_user_simulator_quality_prompt

_VERDICT = re.compile(r'"?is_valid"?\s*:\s*"?([A-Za-z_ ]+)')


class PerTurnUserSimulatorQualityV1(Evaluator):
    """The share of turns in which the simulated user followed its scenario.

    The first message must be the starting prompt. A judge checks each other message, and that the
    conversation ended at the right time; if it did not, the last turn fails.

    Args:
      eval_metric: the metric with an LlmBackedUserSimulatorCriterion.

    Raises:
      ValueError: the criterion does not fit.
      ModelUnavailableError: the judge model is not available.
    """

    criterion_type: ClassVar[type[LlmBackedUserSimulatorCriterion]] = (  # pyright: ignore[reportIncompatibleVariableOverride]
        LlmBackedUserSimulatorCriterion
    )

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._threshold = eval_metric.threshold
        self._criterion = read_criterion(eval_metric, self.criterion_type)
        self._judge = Judge(self._criterion.judge_model_options)

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Return the share of turns that follow the scenario.

        Raises:
          NotApplicableError: the case has no scenario.
          ProviderError: the judge cannot be reached.
        """
        if conversation_scenario is None:
            raise NotApplicableError(
                "per_turn_user_simulator_quality_v1 judges simulated users, and the case has no "
                "scenario."
            )
        if not actual_invocations:
            return EvaluationResult()
        first = actual_invocations[0]
        said = (get_text_from_content(first.user_content) or "").strip()
        right = said == conversation_scenario.starting_prompt.strip()
        results = [self._make_result(first, 1.0 if right else 0.0)]
        for number, turn in enumerate(actual_invocations[1:], 1):
            results.append(
                await self._judge_turn(turn, actual_invocations[:number], conversation_scenario)
            )
        signal = types.Content(role="user", parts=[types.Part(text=self._criterion.stop_signal)])
        end = Invocation(invocation_id="end_of_conversation", user_content=signal)
        ended = await self._judge_turn(end, actual_invocations, conversation_scenario)
        if ended.eval_status is EvalStatus.FAILED:
            last = results[-1]
            results[-1] = self._make_result(last.actual_invocation, ended.score)
        lacking = [f"turn {n}" for n, one in enumerate(results, 1) if one.score is None]
        lacking += ["the end"] if ended.score is None else []
        passed = [one for one in results if one.eval_status is EvalStatus.PASSED]
        share = sum(one.score or 0.0 for one in passed) / len(results)
        return EvaluationResult(
            overall_score=share,
            overall_eval_status=compare_score(share, self._threshold),
            per_invocation_results=results,
            problem=f"The judge gave no verdict on {', '.join(lacking)}." if lacking else "",
        )

    async def _judge_turn(
        self, turn: Invocation, earlier: list[Invocation], scenario: ConversationScenario
    ) -> PerInvocationResult:
        prompt = get_per_turn_user_simulator_quality_prompt(
            conversation_plan=scenario.conversation_plan,
            conversation_history=_format_history(earlier),
            generated_user_response=get_text_from_content(turn.user_content) or "",
            stop_signal=self._criterion.stop_signal,
            user_persona=scenario.user_persona,
        )
        answers = await self._judge.ask(prompt)
        return take_majority([self._make_result(turn, _read_score(one)) for one in answers])

    def _make_result(self, turn: Invocation, score: float | None) -> PerInvocationResult:
        return PerInvocationResult(
            actual_invocation=turn,
            score=score,
            eval_status=compare_score(score, self._threshold),
        )


def _read_score(answer: str) -> float | None:
    found = _VERDICT.search(answer)
    label = read_label(found[1]) if found is not None else Label.NOT_FOUND
    return {Label.VALID: 1.0, Label.INVALID: 0.0}.get(label)


def _format_history(turns: list[Invocation]) -> str:
    lines: list[str] = []
    for turn in turns:
        lines.append(f"user: {get_text_from_content(turn.user_content) or ''}")
        answer = get_text_from_content(turn.final_response)
        if answer is not None:
            lines.append(f"agent: {answer}")
    return "\n\n".join(lines)

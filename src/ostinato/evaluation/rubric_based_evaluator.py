"""RubricBasedEvaluator: base of metrics in which a judge answers yes or no to rubrics."""

from __future__ import annotations

import abc
import re

from .._log import get_logger
from ..errors import InputValidationError
from ..models.llm_response import LlmResponse
from .eval_base_model import EvalBaseModel
from .eval_metrics import BaseCriterion, EvalMetric
from .eval_rubrics import Rubric, RubricScore
from .evaluator import EvaluationResult, PerInvocationResult
from .llm_as_judge import AutoRaterScore, LlmAsJudge
from .llm_as_judge_utils import get_average_rubric_score, get_eval_status, get_text_from_content

logger = get_logger(__name__)

_FIRST_WORD = re.compile(r"\W*(yes|no)\b(?!\s*(?:or\b|/))")
_LINE = re.compile(r"[\s*#>-]*(Property|Rationale|Verdict)[\s*]*:", re.IGNORECASE)

ANSWER_FORMAT = """\
Reply with these three lines for each property, in order, and nothing else. Repeat the property
word by word.

Property: [the property]
Rationale: [why, in one or two sentences]
Verdict: [yes or no]
"""


class RubricResponse(EvalBaseModel):
    """What a judge says of one rubric.

    Attributes:
      property_text: the rubric's text.
      rationale: the judge's reason.
      score: 1.0 for yes, 0.0 for no, else None.
    """

    property_text: str | None = None
    rationale: str | None = None
    score: float | None = None


class AutoRaterResponseParser(abc.ABC):
    """Reads a judge's answer."""

    @abc.abstractmethod
    def parse(self, auto_rater_response: str) -> list[RubricResponse]:
        """Return what the answer says of each rubric."""
        raise NotImplementedError


class DefaultAutoRaterResponseParser(AutoRaterResponseParser):
    """Reads lines `Property:`, `Rationale:` and `Verdict:`."""

    def parse(self, auto_rater_response: str) -> list[RubricResponse]:
        """Return one response for each verdict, with the property and the reason before it."""
        found: list[RubricResponse] = []
        fields: dict[str, str] = {}
        for line in auto_rater_response.splitlines():
            match = _LINE.match(line)
            if match is None:
                continue
            name, text = match[1].lower(), line[match.end() :].strip().strip("*").strip()
            if name == "property":
                fields = {}
            fields[name] = text
            if name == "verdict" and "property" in fields:
                found.append(
                    RubricResponse(
                        property_text=fields["property"],
                        rationale=fields.get("rationale"),
                        score=_read_verdict(text),
                    )
                )
                fields = {}
        return found


def _read_verdict(text: str) -> float | None:
    """Return the score of a verdict: its first word counts, or the only yes or no in it."""
    first = _FIRST_WORD.match(text.lower())
    words = {first[1]} if first else set(re.findall(r"[a-z]+", text.lower())) & {"yes", "no"}
    return {"yes": 1.0, "no": 0.0}[words.pop()] if len(words) == 1 else None


class PerInvocationResultsAggregator(abc.ABC):
    """Combines the samples of one invocation."""

    @abc.abstractmethod
    def aggregate(
        self, per_invocation_samples: list[PerInvocationResult], threshold: float
    ) -> PerInvocationResult:
        """Return one result."""
        raise NotImplementedError


class MajorityVotePerInvocationResultsAggregator(PerInvocationResultsAggregator):
    """Takes the majority of each rubric; a tie counts as no."""

    def aggregate(
        self, per_invocation_samples: list[PerInvocationResult], threshold: float
    ) -> PerInvocationResult:
        """Return the mean of the rubrics' majorities."""
        by_id: dict[str, list[RubricScore]] = {}
        for sample in per_invocation_samples:
            for one in sample.rubric_scores or ():
                by_id.setdefault(one.rubric_id, []).append(one)
        chosen = [_take_rubric_majority(scores) for scores in by_id.values()]
        mean = get_average_rubric_score(chosen)
        first = per_invocation_samples[0]
        return PerInvocationResult(
            actual_invocation=first.actual_invocation,
            expected_invocation=first.expected_invocation,
            score=mean,
            rubric_scores=chosen,
            eval_status=get_eval_status(mean, threshold),
        )


def _take_rubric_majority(scores: list[RubricScore]) -> RubricScore:
    positive = [one for one in scores if one.score == 1.0]
    negative = [one for one in scores if one.score is not None and one.score != 1.0]
    if not positive and not negative:
        return scores[0]
    return positive[0] if len(positive) > len(negative) else negative[0]


class InvocationResultsSummarizer(abc.ABC):
    """Combines the invocations of a case."""

    @abc.abstractmethod
    def summarize(
        self, per_invocation_results: list[PerInvocationResult], threshold: float
    ) -> EvaluationResult:
        """Return one result."""
        raise NotImplementedError


class MeanInvocationResultsSummarizer(InvocationResultsSummarizer):
    """Takes the mean of all rubrics of all invocations."""

    def summarize(
        self, per_invocation_results: list[PerInvocationResult], threshold: float
    ) -> EvaluationResult:
        """Return the mean, and the mean of each rubric."""
        by_id: dict[str, list[RubricScore]] = {}
        for result in per_invocation_results:
            for one in result.rubric_scores or ():
                by_id.setdefault(one.rubric_id, []).append(one)
        mean = get_average_rubric_score([one for scores in by_id.values() for one in scores])
        return EvaluationResult(
            overall_score=mean,
            overall_eval_status=get_eval_status(mean, threshold),
            per_invocation_results=per_invocation_results,
            overall_rubric_scores=[
                RubricScore(
                    rubric_id=rubric_id,
                    score=get_average_rubric_score(scores),
                    rationale="The mean of all turns; each turn has its own rationale.",
                )
                for rubric_id, scores in by_id.items()
            ],
        )


class RubricBasedEvaluator(LlmAsJudge):
    """The share of rubrics that a judge finds fulfilled.

    Args:
      eval_metric: the metric with its criterion and rubrics.
      criterion_type: the type of its criterion.
      auto_rater_response_parser: reads the judge's answers.
      per_invocation_results_aggregator: combines the samples of an invocation.
      invocation_results_summarizer: combines the invocations of a case.
      rubric_type: which rubrics of cases and invocations count; all if None.
    """

    def __init__(
        self,
        eval_metric: EvalMetric,
        criterion_type: type[BaseCriterion],
        auto_rater_response_parser: AutoRaterResponseParser = DefaultAutoRaterResponseParser(),  # noqa: B008
        per_invocation_results_aggregator: PerInvocationResultsAggregator = (
            MajorityVotePerInvocationResultsAggregator()  # noqa: B008
        ),
        invocation_results_summarizer: InvocationResultsSummarizer = (
            MeanInvocationResultsSummarizer()  # noqa: B008
        ),
        rubric_type: str | None = None,
    ) -> None:
        super().__init__(eval_metric, criterion_type=criterion_type)
        self._rubrics: list[Rubric] = self._criterion.rubrics
        self._rubric_type = rubric_type
        self._parser = auto_rater_response_parser
        self._aggregator = per_invocation_results_aggregator
        self._summarizer = invocation_results_summarizer
        self._effective: list[Rubric] | None = None

    def create_effective_rubrics_list(self, invocation_rubrics: list[Rubric] | None) -> None:
        """Choose the rubrics of an invocation: those of the criterion, then its own.

        Args:
          invocation_rubrics: rubrics of the case and the invocation.

        Raises:
          InputValidationError: there is not one, or an id is used twice.
        """
        own = [
            one
            for one in invocation_rubrics or ()
            if self._rubric_type is None or one.type == self._rubric_type
        ]
        rubrics = [*self._rubrics, *own]
        ids = [one.rubric_id for one in rubrics]
        repeated = sorted({one for one in ids if ids.count(one) > 1})
        if repeated:
            raise InputValidationError(f"The rubric id {repeated[0]!r} is used twice.")
        if not rubrics:
            raise InputValidationError(
                f"{self._eval_metric.metric_name} has no rubrics: put them into the criterion, the "
                f"case or the turn (of type {self._rubric_type!r})."
            )
        self._effective = rubrics

    def get_effective_rubrics_list(self) -> list[Rubric]:
        """Return the rubrics of the invocation that is being judged.

        Raises:
          ValueError: none were chosen yet.
        """
        if self._effective is None:
            raise ValueError("Call create_effective_rubrics_list first.")
        return self._effective

    def format_rubrics(self) -> str:
        """Return the rubrics of the invocation as a list for the prompt."""
        texts = [one.rubric_content.text_property for one in self.get_effective_rubrics_list()]
        return "\n".join(f"* {text}" for text in texts)

    def convert_auto_rater_response_to_score(
        self, auto_rater_response: LlmResponse
    ) -> AutoRaterScore:
        """Return the score of each rubric that the answer speaks of, and their mean."""
        known = {
            _normalize(one.rubric_content.text_property): one
            for one in self.get_effective_rubrics_list()
        }
        text = get_text_from_content(auto_rater_response.content) or ""
        scores: list[RubricScore] = []
        for found in self._parser.parse(text):
            rubric = known.get(_normalize(found.property_text))
            if rubric is None:
                logger.warning("The judge speaks of an unknown rubric: %s", found.property_text)
                continue
            scores.append(
                RubricScore(
                    rubric_id=rubric.rubric_id, rationale=found.rationale, score=found.score
                )
            )
        if not scores:
            logger.warning("The judge's answer has no verdict on any rubric: %.200s", text)
        return AutoRaterScore(score=get_average_rubric_score(scores), rubric_scores=scores)

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """Return one result for the samples of an invocation."""
        return self._aggregator.aggregate(per_invocation_samples, self._threshold)

    def describe_gap(self, result: PerInvocationResult) -> str:
        """Return the rubrics that have no verdict in an invocation."""
        known = {one.rubric_id for one in result.rubric_scores or () if one.score is not None}
        return ", ".join(
            f"rubric {one.rubric_id!r}"
            for one in self.get_effective_rubrics_list()
            if one.rubric_id not in known
        )

    def aggregate_invocation_results(
        self, per_invocation_results: list[PerInvocationResult]
    ) -> EvaluationResult:
        """Return one result for the invocations of a case."""
        return self._summarizer.summarize(per_invocation_results, self._threshold)

    @property
    def _threshold(self) -> float:
        return float(self._criterion.threshold)


def _normalize(text: str | None) -> str:
    return " ".join((text or "").lower().strip(" *\"'").split())

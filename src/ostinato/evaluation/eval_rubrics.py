"""Rubrics: properties that a judge looks for in an answer, and their scores."""

from __future__ import annotations

from .eval_base_model import EvalBaseModel


class RubricContent(EvalBaseModel):
    """The content of a rubric.

    Attributes:
      text_property: the property, such as "The answer names the city."
    """

    text_property: str | None


class Rubric(EvalBaseModel):
    """A property that an answer should have.

    Attributes:
      rubric_id: unique among the rubrics of one evaluation.
      rubric_content: the property.
      description: what it is for; not given to the judge.
      type: the metric that uses it, such as `FINAL_RESPONSE_QUALITY`, for rubrics of cases and
        invocations.
    """

    rubric_id: str
    rubric_content: RubricContent
    description: str | None = None
    type: str | None = None


class RubricScore(EvalBaseModel):
    """The score of one rubric.

    Attributes:
      rubric_id: the rubric.
      rationale: the judge's reason.
      score: 1.0 for yes, 0.0 for no; None if the judge gave no verdict.
    """

    rubric_id: str
    rationale: str | None = None
    score: float | None = None

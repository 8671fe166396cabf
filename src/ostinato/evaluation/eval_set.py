"""EvalSet: the cases of one file."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, field_validator

from .eval_base_model import CommentedModel
from .eval_case import EvalCase


def describe_repeated_id(cases: Sequence[EvalCase]) -> str:
    """Return which cases have the same id; "" if none have.

    Args:
      cases: the cases of a set.
    """
    first: dict[str, int] = {}
    for place, case in enumerate(cases):
        before = first.setdefault(case.eval_id, place)
        if before != place:
            return (
                f"eval_cases[{before}] and eval_cases[{place}] have both the eval_id "
                f"{case.eval_id!r}, and only one of them would be evaluated; give each case an id "
                "of its own."
            )
    return ""


class EvalSet(CommentedModel):
    """A named set of cases; the content of `<eval_set_id>.evalset.json`.

    Attributes:
      eval_set_id: its id.
      name, description: for people.
      eval_cases: the cases; each has an id of its own.
      creation_timestamp: seconds since 1970.
    """

    eval_set_id: str
    name: str | None = None
    description: str | None = None
    eval_cases: list[EvalCase]
    creation_timestamp: float = Field(default=0.0)

    @field_validator("eval_cases")
    @classmethod
    def _check_ids(cls, cases: list[EvalCase]) -> list[EvalCase]:
        repeated = describe_repeated_id(cases)
        if repeated:
            raise ValueError(repeated)
        return cases

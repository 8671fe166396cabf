"""Rubrics of a case and of its turns, added to what the judge sees."""

from __future__ import annotations

from ..errors import InputValidationError
from .eval_case import EvalCase, Invocation
from .eval_rubrics import Rubric


def add_rubrics_of_case(eval_case: EvalCase, actual: list[Invocation]) -> None:
    """Add the rubrics of a case to all its invocations, and those of a turn to its invocation.

    Args:
      eval_case: the case.
      actual: its invocations.

    Raises:
      InputValidationError: two rubrics of an invocation have the same id.
    """
    turns = eval_case.conversation or []
    for number, invocation in enumerate(actual):
        own = turns[number].rubrics if number < len(turns) else None
        _add_rubrics(invocation, [*(eval_case.rubrics or ()), *(own or ())])


def _add_rubrics(invocation: Invocation, rubrics: list[Rubric]) -> None:
    if not rubrics:
        return
    found = [*(invocation.rubrics or ()), *rubrics]
    ids = [one.rubric_id for one in found]
    repeated = {one for one in ids if ids.count(one) > 1}
    if repeated:
        raise InputValidationError(
            f"The rubric id {min(repeated)!r} is used twice for one turn; give each its own."
        )
    invocation.rubrics = found

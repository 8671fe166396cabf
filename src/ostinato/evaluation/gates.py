"""Gates of an evaluation or a replay: when a number makes the command fail."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InputValidationError

_GATE = re.compile(r"\s*([a-z_]+)\s*(<=|>=|==|<|>)\s*([+-]?)(\d+(?:\.\d+)?)(%?)\s*")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A number and the bound at which a command fails.

    Attributes:
      name: what is measured.
      sign: the comparison.
      bound: the number; a percentage is a share, 2 % is 0.02.
      is_percentage: whether the bound was given as a percentage.
      is_signed: whether the bound has a sign, and so compares a change.
      text: the gate as it was written.
    """

    name: str
    sign: str
    bound: float
    is_percentage: bool
    is_signed: bool
    text: str

    def is_broken(self, measured: float) -> bool:
        """Return whether a measured number breaks the gate."""
        return _OPERATORS[self.sign](measured, self.bound)


def read_gates(expression: str, example: str) -> list[Gate]:
    """Return the gates of an expression.

    Args:
      expression: gates separated by commas.
      example: a valid gate, for the error.

    Raises:
      InputValidationError: a gate is not `NAME OPERATOR NUMBER`, or a share is above 100 %.
    """
    gates: list[Gate] = []
    for text in expression.split(","):
        match = _GATE.fullmatch(text)
        if match is None:
            raise InputValidationError(
                f"{text.strip()!r} is not a gate; write NAME>NUMBER, such as {example}."
            )
        name, sign, prefix, number, percent = match.groups()
        bound = float(f"{prefix}{number}") / (100 if percent else 1)
        if percent and not prefix and bound > 1:
            raise InputValidationError(
                f"The gate {text.strip()!r} compares a share, which is 100% at most."
            )
        gates.append(Gate(name, sign, bound, bool(percent), bool(prefix), text.strip()))
    return gates

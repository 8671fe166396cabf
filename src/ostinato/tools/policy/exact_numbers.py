"""Numbers as policies compare and add them: exactly, as their texts say them.

An account number has more digits than a float, and 0.1 means a tenth. So integers stay integers,
and floats and texts become decimals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from functools import reduce
from typing import Any

Number = int | Decimal
_DIGITS = 64  # characters of a text that is read as a number
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation])
_SAFE = 2**53  # every JSON reader keeps integers up to this one


def read_number(value: Any) -> Number | None:
    """Return the finite number that a value is or that its text says, or None."""
    if isinstance(value, int):
        return None if isinstance(value, bool) else value
    if isinstance(value, float):
        return Decimal(float.__repr__(value)) if math.isfinite(value) else None
    if isinstance(value, str):
        return _read_text(value)
    return value if isinstance(value, Decimal) and value.is_finite() else None


def _read_text(text: str) -> Number | None:
    if len(text) > _DIGITS:
        return None
    try:
        rough = float(text)
        number = Decimal(text)
    except (ValueError, InvalidOperation):
        return None
    # What a float takes for infinity or 0 is no number on which a tool and a rule agree.
    return number if math.isfinite(rough) and (rough or not number) else None


def add_numbers(numbers: Iterable[Number]) -> Number:
    """Return the exact sum of numbers."""
    return reduce(_EXACT.add, numbers, Decimal(0))


def write_number(number: Number) -> int | float | str:
    """Return a number as JSON that every store keeps exactly; `read_written` reads it."""
    if isinstance(number, int):
        return number if -_SAFE <= number <= _SAFE else str(number)
    rough = float(number)
    return rough if read_number(rough) == number else str(number)


def read_written(value: float | str) -> Number:
    """Return a number that `write_number` wrote, however long it is."""
    return Decimal(value) if isinstance(value, str) else read_number(value) or 0

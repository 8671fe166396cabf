"""Conversion of google-genai records where the type of a value decides what happens next.

Fields of our records take them by themselves; code that asks for a type calls `own` first.
"""

from typing import Any, cast

from ostinato import types
from ostinato.types._base_record import GENAI_TYPES as GENAI_TYPES
from ostinato.types._base_record import Record as Record


def own(value: Any) -> Any:
    """Return google-genai records, also those in a list, as Ostinato's; other values unchanged."""
    if value is None or isinstance(value, (Record, str)):
        return value
    if isinstance(value, list):
        return [own(item) for item in cast(list[Any], value)]
    kind = next((base for base in type(value).__mro__ if base.__module__ == GENAI_TYPES), None)
    ours: Any = getattr(types, kind.__name__, kind) if kind is not None else None
    if not (isinstance(ours, type) and issubclass(ours, Record)):
        return value
    return ours.model_validate(value)

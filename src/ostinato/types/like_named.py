"""Takes in records of google-genai where one of ours has to be told from text, a dict or a class.

Fields of our records take them by themselves; code that asks for a type calls `own` first.
"""

from typing import Any, cast

from ostinato import types
from ostinato.types._record import Record

_GENAI = "google.genai.types"


def own(value: Any) -> Any:
    """Return a record of google-genai, or a list with some in it, as ours; all else as it is."""
    if value is None or isinstance(value, (Record, str)):
        return value
    if isinstance(value, list):
        return [own(item) for item in cast(list[Any], value)]
    kind = next((base for base in type(value).__mro__ if base.__module__ == _GENAI), None)
    ours: Any = getattr(types, kind.__name__, kind) if kind is not None else None
    if not (isinstance(ours, type) and issubclass(ours, Record)):
        return value
    return ours.model_validate(value)

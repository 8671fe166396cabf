"""Conversion of google-genai records where the type of a value decides what happens next.

Fields of our records take them by themselves; code that asks for a type calls `own` first, and the
constructors of messages call `own_fields`, which keeps which fields were given.
"""

from typing import Any, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from ostinato import types
from ostinato.types._base_record import GENAI_TYPES as GENAI_TYPES
from ostinato.types._base_record import Record as Record

_twins: WeakKeyDictionary[type, type[Record]] = WeakKeyDictionary()


def own(value: Any) -> Any:
    """Return google-genai records, also those in a list, as Ostinato's; other values unchanged.

    The fields that were given are the same. An object of a program's own subclass becomes one of a
    class derived from ours and from that one.
    """
    if value is None or isinstance(value, (Record, str)):
        return value
    if isinstance(value, list):
        return [own(item) for item in cast(list[Any], value)]
    kind = next((base for base in type(value).__mro__ if base.__module__ == GENAI_TYPES), None)
    ours: Any = getattr(types, kind.__name__, kind) if kind is not None else None
    if not (isinstance(ours, type) and issubclass(ours, Record)):
        return value
    if type(value) is not kind:
        ours = _find_twin(type(value), ours)
    return ours.model_validate(_read_given(value, ours))


def own_fields(data: dict[str, Any], names: tuple[str, ...]) -> None:
    """Convert the google-genai records among the arguments of a constructor, in place.

    Args:
      data: the arguments.
      names: the fields that may hold such records.
    """
    for name in names:
        if name in data:
            data[name] = own(data[name])


def _read_given(value: Any, ours: type[Record]) -> dict[str, Any]:
    """Return the fields of a google-genai record that were given and that our class has."""
    known = ours.model_fields
    given = cast(set[str], value.model_fields_set)
    fields: dict[str, Any] = {**vars(value), **(value.model_extra or {})}
    # A record made of another's attributes counts all its fields as given.
    is_copy = len(given) >= len(cast(Any, type(value)).model_fields)
    return {
        name: _own_values(fields[name])
        for name in fields
        if name in given and (name in known or ours.model_config.get("extra") == "allow")
        if not (is_copy and fields[name] is None)
    }


def _own_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: own(item) for key, item in cast(dict[Any, Any], value).items()}
    return own(value)


def _find_twin(theirs: Any, ours: type[Record]) -> type[Record]:
    """Return the class that is both a program's subclass of a google-genai record and ours."""
    twin = _twins.get(theirs)
    if twin is None:
        # Fields are ours where both have them. A constructor of theirs has run already.
        names = {
            "__module__": theirs.__module__,
            "__qualname__": theirs.__qualname__,
            "__init__": BaseModel.__init__,
        }
        twin = _twins[theirs] = cast(
            type[Record], type(theirs)(theirs.__name__, (ours, theirs), names)
        )
    return twin

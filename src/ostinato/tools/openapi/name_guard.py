"""Checks of a model's values: none may become another parameter of the request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import unquote

from .api_parameter import ApiParameter
from .spec_record import dict_of, list_of

_OBJECT_FIELDS = ("properties", "additionalProperties", "patternProperties", "$ref")


class ArgumentError(ValueError):
    """Arguments of a call do not fit its operation; the message is for the model."""


class NameGuard:
    """Refuses names that a value brings into a request if something else has them.

    Names are compared without regard to case, and as far as their first bracket: many services
    read `Tenant` and `tenant[]` as `tenant`.

    Args:
      taken: the names of parameters, credentials and fields that are there already.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {fold_name(name): name for name in taken}
        self._bases = {cut_name(name): known for name, known in self._taken.items()}

    def check(self, own: str, names: Iterable[str]) -> None:
        """Check the names that the value of one parameter writes.

        Args:
          own: the parameter's name; empty if the names have no owner.
          names: what it writes, decoded.

        Raises:
          ArgumentError: one of them belongs to another parameter.
        """
        place, base = fold_name(own), cut_name(fold_name(own))
        for name in map(fold_name, names):
            if name == place:
                continue
            known = self._taken.get(name)
            if known is None and cut_name(name) != base:
                known = self._bases.get(cut_name(name))
            if known is not None and fold_name(known) != place:
                place = f" of the parameter {own!r}" if own else ""
                raise ArgumentError(
                    f"The field {name!r}{place} would be sent as {known!r}, which is something "
                    "else. Leave it out."
                )


def fold_name(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return name.strip().casefold()


def decode_names(pairs: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the names of encoded pairs, decoded."""
    return [unquote(name.replace("+", " ")) for name, _ in pairs]


def check_shape(parameter: ApiParameter, value: Any) -> None:
    """Refuse an object or a list for a parameter whose schema does not take one.

    Its fields would be written as parameters of their own.

    Raises:
      ArgumentError: the value has another shape than the schema says.
    """
    schema = parameter.schema_record.raw
    name = parameter.original_name
    if isinstance(value, dict):
        if not _takes(schema, "object"):
            raise ArgumentError(
                f"The parameter {name!r} takes no object, but {_kinds_of(schema)}. Give one value."
            )
        known = dict_of(schema.get("properties"))
        unknown = [one for one in cast("dict[str, Any]", value) if one not in known]
        if unknown and schema.get("additionalProperties") is False:
            raise ArgumentError(f"The parameter {name!r} has no field {unknown[0]!r}.")
    elif isinstance(value, list) and not _takes(schema, "array"):
        raise ArgumentError(
            f"The parameter {name!r} takes no list, but {_kinds_of(schema)}. Give one value."
        )


def _takes(schema: Any, kind: str) -> bool:
    """Return whether a schema takes objects, or lists; one that says nothing takes lists only."""
    if not isinstance(schema, dict):
        return False
    known = cast("dict[str, Any]", schema)
    told = known.get("type")
    if told is not None:
        return kind in (cast("list[Any]", told) if isinstance(told, list) else [told])
    for name in ("anyOf", "oneOf", "allOf"):
        if name in known:
            return any(_takes(one, kind) for one in list_of(known[name]))
    if kind == "object":
        return any(name in known for name in _OBJECT_FIELDS)
    return "properties" not in known


def _kinds_of(schema: dict[str, Any]) -> str:
    told = schema.get("type")
    names = cast("list[Any]", told) if isinstance(told, list) else [told or "a single value"]
    return " or ".join(str(one) for one in names if one != "null")


def cut_name(name: str) -> str:
    """Return a name as far as its first bracket."""
    return name.partition("[")[0].strip()

"""State: the dict-like view through which agents, tools and callbacks read and write session
state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from ..errors import StateSchemaError as StateSchemaError

SCOPED_PREFIXES = ("app:", "user:", "temp:")


class State:
    """Committed state with the changes of one event on top (Spec 4 §3, Spec 3 "Dirty reads").

    Writes show at once to every view on the same session, and reach the store when the event that
    carries
    the delta is committed. Setting a key to None removes it: `state[k]` and `get` then give None,
      `k in state`
    is False, and `to_dict` leaves it out.

    Args:
      value: the session's state, changed in place.
      delta: the changes, in the form of `EventActions.state_delta`.
      schema: pydantic model that unprefixed keys and their values must fit.
      tombstones: the session's removed keys, changed in place.
    """

    APP_PREFIX = "app:"
    USER_PREFIX = "user:"
    TEMP_PREFIX = "temp:"

    __slots__ = ("_delta", "_schema", "_tombstones", "_value")

    def __init__(
        self,
        value: dict[str, Any],
        delta: dict[str, Any],
        schema: type[BaseModel] | None = None,
        *,
        tombstones: set[str] | None = None,
    ) -> None:
        self._value = value
        self._delta = delta
        self._schema = schema
        self._tombstones = set[str]() if tombstones is None else tombstones

    def __getitem__(self, key: str) -> Any:
        if key in self._delta:
            return self._delta[key]
        if key in self._tombstones:
            return None
        return self._value[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if self._schema is not None and not key.startswith(SCOPED_PREFIXES):
            _validate_state_entry(self._schema, key, value)
        self._delta[key] = value
        write_key(self._value, self._tombstones, key, value)

    def __contains__(self, key: object) -> bool:
        if key in self._delta:
            return self._delta[key] is not None  # pyright: ignore[reportArgumentType]
        return key in self._value and self._value[key] is not None  # pyright: ignore[reportArgumentType]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def __repr__(self) -> str:
        return f"State({self.to_dict()!r})"

    def keys(self) -> list[str]:
        """Return the keys that are set."""
        return list(self.to_dict())

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`; set it to `default` first where it is absent."""
        if key in self:
            return self[key]
        self[key] = default
        return default

    def has_delta(self) -> bool:
        """Tell whether there are changes that no committed event carries yet."""
        return bool(self._delta)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, or `default` where it is absent or removed."""
        return self[key] if key in self else default

    def update(self, delta: Mapping[str, Any]) -> None:
        """Set every key of `delta`."""
        for key, value in delta.items():
            self[key] = value

    def to_dict(self) -> dict[str, Any]:
        """Return a new dict of all keys that are set."""
        merged = {**self._value, **self._delta}
        return {key: value for key, value in merged.items() if value is not None}


def write_key(value: dict[str, Any], tombstones: set[str], key: str, new: Any) -> None:
    """Set or, for None, remove one top-level key of a state dict; nested None is left alone."""
    if new is None:
        value.pop(key, None)
        tombstones.add(key)
    else:
        value[key] = new
        tombstones.discard(key)


@lru_cache(maxsize=1024)
def _adapter(schema: type[BaseModel], key: str) -> TypeAdapter[Any]:
    return TypeAdapter(schema.model_fields[key].annotation or Any)


def _validate_state_entry(schema: type[BaseModel], key: str, value: Any) -> None:
    """Raise StateSchemaError unless `schema` declares `key` with a type that takes `value`."""
    if key not in schema.model_fields:
        raise StateSchemaError(
            f"Key {key!r} is not declared in state schema {schema.__name__!r}. "
            f"Declared fields: {list(schema.model_fields)}"
        )
    try:
        _adapter(schema, key).validate_python(value)
    except ValidationError as error:
        expected = schema.model_fields[key].annotation
        raise StateSchemaError(
            f"Value for {key!r} does not match type {str(expected)!r} in {schema.__name__!r}: "
            f"{error}"
        ) from error

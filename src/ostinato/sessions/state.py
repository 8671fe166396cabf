"""State: the dict-like view through which agents, tools and callbacks read and write session
state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model, field_validator
from pydantic_core import PydanticSerializationError, to_json

from .. import _clock
from .._adk_mode import follows_adk
from ..errors import InputValidationError
from ..errors import StateSchemaError as StateSchemaError
from .log.ordered_delta import OrderedDelta

SCOPED_PREFIXES = ("app:", "user:", "temp:")


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_FIT = frozenset((int, bool, type(None)))


def state_text(key: Any, value: Any) -> str:
    """Return a state value as JSON text.

    Raises:
      InputValidationError: JSON cannot carry it; the message names the key.
    """
    try:
        text = _encode(value)
        f"{key}{text}".encode()  # lone surrogates
    except (TypeError, ValueError, RecursionError) as error:
        raise InputValidationError(
            f"State key {key!r} holds a value that JSON cannot carry ({error}); store JSON values "
            f"only, or keep it for the length of one run under a '{State.TEMP_PREFIX}' key."
        ) from error
    return text


def check_state_value(key: Any, value: Any) -> None:
    """Check that a value can be stored, if it is to be; `temp:` values are not.

    A program written for google-adk may keep any object, for a store in memory.

    Raises:
      InputValidationError: JSON cannot carry it.
    """
    if type(value) in _FIT or follows_adk() or str(key).startswith(State.TEMP_PREFIX):
        return
    state_text(key, value)


class KeyMarks:
    """What a session knows of its state keys beside their values.

    Attributes:
      tombstones: removed keys.
      written: when each key was last written through this session, in seconds since 1970; None
        before the first write.
    """

    __slots__ = ("tombstones", "written")

    def __init__(self) -> None:
        self.tombstones: set[str] = set()
        self.written: dict[str, float] | None = None

    def note_write(self, key: str) -> None:
        """Record that a key is written now."""
        if self.written is None:
            self.written = {}
        self.written[key] = _clock.now()


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
      marks: the marks of the session's keys, changed in place.
    """

    APP_PREFIX = "app:"
    USER_PREFIX = "user:"
    TEMP_PREFIX = "temp:"

    __slots__ = ("_delta", "_marks", "_schema", "_value")

    def __init__(
        self,
        value: dict[str, Any],
        delta: dict[str, Any],
        schema: type[BaseModel] | None = None,
        *,
        marks: KeyMarks | None = None,
    ) -> None:
        self._value = value
        self._delta = delta
        self._schema = schema
        self._marks = KeyMarks() if marks is None else marks

    def __getitem__(self, key: str) -> Any:
        if key in self._delta and not self._is_superseded(key):
            return self._delta[key]
        if key in self._marks.tombstones:
            return None
        return self._value[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if self._schema is not None and not key.startswith(SCOPED_PREFIXES):
            _validate_state_entry(self._schema, key, value)
        check_state_value(key, value)
        self._delta[key] = value
        self._marks.note_write(key)
        write_key(self._value, self._marks.tombstones, key, value)

    def __contains__(self, key: object) -> bool:
        if key in self._delta and not self._is_superseded(key):  # pyright: ignore[reportArgumentType]
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
        """Return whether there are changes that no committed event carries yet."""
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
        own = {key: value for key, value in self._delta.items() if not self._is_superseded(key)}
        merged = {**self._value, **own}
        return {key: value for key, value in merged.items() if value is not None}

    def _is_superseded(self, key: str) -> bool:
        """Return whether a parallel tool call wrote `key` after this view did."""
        delta = self._delta
        return isinstance(delta, OrderedDelta) and delta.is_superseded(key)


def write_key(value: dict[str, Any], tombstones: set[str], key: str, new: Any) -> None:
    """Set or, for None, remove one top-level key of a state dict; nested None is left alone."""
    if new is None:
        value.pop(key, None)
        tombstones.add(key)
    else:
        value[key] = new
        tombstones.discard(key)


def check_mapping(name: str, state: Any) -> None:
    """Raise InputValidationError if a state that was given is not a dict."""
    if state is not None and not isinstance(state, Mapping):
        raise InputValidationError(f"{name} takes a dict; got {state!r:.80}")


def check_state(schema: type[BaseModel], delta: Mapping[str, Any]) -> None:
    """Check the unprefixed keys of a state delta against a schema.

    Raises:
      StateSchemaError: a key is not declared, or its value breaks the field's type or constraints.
    """
    for key, value in delta.items():
        if not key.startswith(SCOPED_PREFIXES):
            _validate_state_entry(schema, key, value)


@lru_cache(maxsize=1024)
def _build_checker(schema: type[BaseModel], key: str) -> type[BaseModel]:
    """Return a model of this one field, with its constraints and its validators."""
    validators: dict[str, Any] = {
        name: field_validator(key, mode=one.info.mode)(staticmethod(one.func))
        for name, one in schema.__pydantic_decorators__.field_validators.items()
        if key in one.info.fields or "*" in one.info.fields
    }
    field = schema.model_fields[key]
    config = ConfigDict(**schema.model_config)
    config.update(populate_by_name=True, extra="ignore", frozen=False)
    fields: dict[str, Any] = {key: (field.annotation, field)}
    return create_model(schema.__name__, __config__=config, __validators__=validators, **fields)


def _validate_state_entry(schema: type[BaseModel], key: str, value: Any) -> None:
    """Raise StateSchemaError unless `schema` declares `key` as a field that takes `value`.

    The value counts in the form in which it is stored, as JSON, and is not converted: `"7"` is no
    int, but a date may be text, and a model a dict.
    """
    if key not in schema.model_fields:
        raise StateSchemaError(
            f"Key {key!r} is not declared in state schema {schema.__name__!r}. "
            f"Declared fields: {list(schema.model_fields)}"
        )
    checker = _build_checker(schema, key)
    try:
        try:
            text = to_json({key: value})
        except PydanticSerializationError:
            checker.model_validate({key: value}, strict=True)
        else:
            checker.model_validate_json(text, strict=True)
    except ValidationError as error:
        expected = schema.model_fields[key].annotation
        raise StateSchemaError(
            f"Value for {key!r} does not match type {str(expected)!r} in {schema.__name__!r}: "
            f"{error}"
        ) from error

"""Blank: the defaults of a record, from which more such records are made without validation.

Validating a record costs more than all the loop does with it. What the runtime itself fills in was
validated before, or was never anything else: events, requests, settings and contexts of runs.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

_R = TypeVar("_R", bound=BaseModel)
_new = object.__new__
# A record's slots, by their own setters: by name, the class is searched for each.
_set_fields = vars(BaseModel)["__dict__"].__set__
_set_given = vars(BaseModel)["__pydantic_fields_set__"].__set__
_set_extra = vars(BaseModel)["__pydantic_extra__"].__set__
_set_private = vars(BaseModel)["__pydantic_private__"].__set__


class Blank(Generic[_R]):
    """Makes records of one class; values are taken as they are.

    Args:
      first: makes a record the usual way, when one is first needed: its fields are the defaults.
      fresh: how to make the defaults that two records must not share, by field; empty lists, dicts
        and sets are made anew by themselves.
      notes_given: whether records know which of their fields were given; False where nobody asks,
        and so many sets of names would be kept for nothing.
    """

    __slots__ = ("_fields", "_first", "_fresh", "_given", "_kind", "_private", "_private_fresh")

    def __init__(
        self,
        first: Callable[[], _R],
        fresh: Mapping[str, Callable[[], Any]] | None = None,
        *,
        notes_given: bool = True,
    ) -> None:
        self._first = first
        self._fresh: dict[str, Callable[[], Any]] = dict(fresh or {})
        self._given = None if notes_given else set[str]()
        self._fields: dict[str, Any] | None = None
        self._private: dict[str, Any] | None = None
        self._private_fresh: list[tuple[str, Callable[[], Any]]] = []

    def _read_defaults(self) -> dict[str, Any]:
        """Take the defaults from the first record; late, so that importing stays cheap."""
        record = self._first()
        self._kind = type(record)
        for name, value in vars(record).items():
            if type(value) in (list, dict, set) and name not in self._fresh:
                self._fresh[name] = type(value)
        for name, attribute in self._kind.__private_attributes__.items():
            self._private = self._private or {}
            self._private[name] = attribute.default
            if attribute.default_factory is not None:
                make = cast(Callable[[], Any], attribute.default_factory)
                self._private_fresh.append((name, make))
        self._fields = dict(vars(record))
        return self._fields

    def fill(self, **given: Any) -> _R:
        """Return a new record with these fields; the others have their defaults."""
        fields = {**(self._fields or self._read_defaults()), **given}
        for name, make in self._fresh.items():
            if name not in given:
                fields[name] = make()
        record = _new(self._kind)
        _set_fields(record, fields)
        _set_given(record, set(given) if self._given is None else self._given)
        _set_extra(record, None)
        private = self._private
        if private is not None:
            private = private.copy()
            for name, make in self._private_fresh:
                private[name] = make()
        _set_private(record, private)
        return record


def twin(record: _R, **changes: Any) -> _R:
    """Return a copy of a record with some fields changed, as `model_copy(update=...)` does.

    The names of the fields that were given are shared: it is for records of which nobody asks them.
    """
    copy = _new(type(record))
    _set_fields(copy, {**vars(record), **changes})
    _set_given(copy, record.__pydantic_fields_set__)
    _set_extra(copy, record.__pydantic_extra__)
    private = record.__pydantic_private__
    _set_private(copy, None if private is None else private.copy())
    return copy

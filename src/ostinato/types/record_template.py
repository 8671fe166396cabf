"""Templates that create pydantic records without validation.

Validating a record costs more than the rest of the loop does with it. The runtime uses templates
for records whose values it has validated or built itself: events, requests, settings, contexts.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

_R = TypeVar("_R", bound=BaseModel)
_new = object.__new__
# The setters of a record's slots; setting them by name would search the class for each.
_set_fields = vars(BaseModel)["__dict__"].__set__
_set_given = vars(BaseModel)["__pydantic_fields_set__"].__set__
_set_extra = vars(BaseModel)["__pydantic_extra__"].__set__
_set_private = vars(BaseModel)["__pydantic_private__"].__set__


class RecordTemplate(Generic[_R]):
    """Creates records of one class without validating their values.

    Args:
      create_first: creates one validated record when the template is first used; its fields are
        the defaults.
      default_factories: by field, the factories of defaults that two records must not share. Empty
        lists, dicts and sets need none.
      track_fields_set: whether each record knows which of its fields were given. False saves one
        set per record.
    """

    __slots__ = (
        "_create_first",
        "_factories",
        "_fields",
        "_given",
        "_kind",
        "_private",
        "_private_factories",
    )

    def __init__(
        self,
        create_first: Callable[[], _R],
        default_factories: Mapping[str, Callable[[], Any]] | None = None,
        *,
        track_fields_set: bool = True,
    ) -> None:
        self._create_first = create_first
        self._factories: dict[str, Callable[[], Any]] = dict(default_factories or {})
        self._given = None if track_fields_set else set[str]()
        self._fields: dict[str, Any] | None = None
        self._private: dict[str, Any] | None = None
        self._private_factories: list[tuple[str, Callable[[], Any]]] = []

    def _read_defaults(self) -> dict[str, Any]:
        """Read the defaults from a first record, at the first use, to keep importing cheap."""
        record = self._create_first()
        self._kind = type(record)
        for name, value in vars(record).items():
            if type(value) in (list, dict, set) and name not in self._factories:
                self._factories[name] = type(value)
        for name, attribute in self._kind.__private_attributes__.items():
            self._private = self._private or {}
            self._private[name] = attribute.default
            if attribute.default_factory is not None:
                make = cast(Callable[[], Any], attribute.default_factory)
                self._private_factories.append((name, make))
        self._fields = dict(vars(record))
        return self._fields

    def create(self, **given: Any) -> _R:
        """Return a new record with these fields; the others have their defaults."""
        fields = {**(self._fields or self._read_defaults()), **given}
        for name, make in self._factories.items():
            if name not in given:
                fields[name] = make()
        record = _new(self._kind)
        _set_fields(record, fields)
        _set_given(record, set(given) if self._given is None else self._given)
        _set_extra(record, None)
        private = self._private
        if private is not None:
            private = private.copy()
            for name, make in self._private_factories:
                private[name] = make()
        _set_private(record, private)
        return record


def shallow_copy(record: _R, **changes: Any) -> _R:
    """Return a copy of a record with some fields changed, as `model_copy(update=...)` does.

    Both records share one `model_fields_set`; use it for records that never read theirs.
    """
    copy = _new(type(record))
    _set_fields(copy, {**vars(record), **changes})
    _set_given(copy, record.__pydantic_fields_set__)
    _set_extra(copy, record.__pydantic_extra__)
    private = record.__pydantic_private__
    _set_private(copy, None if private is None else private.copy())
    return copy

"""The base of every content and config record, and the base of their enums.

Lowest file of `ostinato.types`; every other file there builds on it.
"""

import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

GENAI_TYPES = "google.genai.types"
"""The module whose records are taken wherever a record of Ostinato is expected."""


class Record(BaseModel):
    """A record of the model API: camelCase in JSON, snake_case in Python, unknown fields refused.

    Instances of google-genai's own classes are read by their attributes wherever a record of
    Ostinato is expected; bytes are base64 in JSON (written url-safe, read either way).
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        from_attributes=True,
        protected_namespaces=(),
        extra="forbid",
        arbitrary_types_allowed=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        defer_build=True,
    )

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Name only what is set: most fields of a record are None most of the time."""
        for name, value in self.__dict__.items():
            if value is not None:
                yield name, value

    def __eq__(self, other: object) -> bool:
        """Return whether the fields are equal, also those of google-genai's record of this name."""
        if not isinstance(other, Record) and self._is_named_like(other):
            ours, theirs = vars(self), vars(other)
            return all(ours.get(name) == theirs.get(name) for name in ours.keys() | theirs.keys())
        return super().__eq__(other)

    def _is_named_like(self, other: object) -> bool:
        names = {kind.__name__ for kind in type(other).__mro__ if kind.__module__ == GENAI_TYPES}
        return bool(names) and any(kind.__name__ in names for kind in type(self).__mro__)

    def to_json_dict(self) -> dict[str, Any]:
        """Return the set fields as JSON values under their Python names."""
        return self.model_dump(exclude_none=True, mode="json")


# Not StrEnum: str() of a member is "Type.STRING" in google-genai, and some callers print it.
class CaseInsensitiveEnum(str, Enum):  # noqa: UP042
    """A string enum whose lookup ignores case and which keeps values newer than this library."""

    @classmethod
    def _missing_(cls, value: object) -> "CaseInsensitiveEnum | None":
        if not isinstance(value, str):
            return None
        for spelling in (value.upper(), value.lower()):
            if spelling in cls.__members__:
                return cls.__members__[spelling]
        warnings.warn(f"{value} is not a valid {cls.__name__}", stacklevel=2)
        # Not registered on purpose: a service's new value must not change the enum for everybody.
        member = str.__new__(cls, value)
        member._name_ = member._value_ = value
        return member

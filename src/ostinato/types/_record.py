"""The base of every content and config record, the base of their enums, and late field types.

Lowest file of `ostinato.types`; every other file there builds on it, and records elsewhere may use
`later` for fields whose type is rarely met.
"""

import sys
import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema, to_json

FACE = "ostinato.types"


class Record(BaseModel):
    """A record of the model API: camelCase in JSON, snake_case in Python, unknown fields refused.

    Instances of google-genai's own classes are read by their attributes wherever one of ours is
    expected; bytes are base64 in JSON (written url-safe, read either way).
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


def named(name: str) -> Any:
    """Return a type of `ostinato.types` by its name, importing its file at the first call."""
    return getattr(sys.modules[FACE], name)


class Later:
    """Marks a field whose type is looked up in `ostinato.types` when a first value arrives.

    Such a field costs neither the import nor the validator of its type until it is used; after
    that it validates, dumps and describes itself in JSON schema as if it had been there.
    """

    __slots__ = ("_adapter", "name")

    def __init__(self, name: str) -> None:
        """Take the public `name` of the type."""
        self.name = name
        self._adapter: TypeAdapter[Any] | None = None

    def __repr__(self) -> str:
        return f"Later({self.name!r})"

    def adapter(self) -> TypeAdapter[Any]:
        """Return the type's validator, building it at the first call."""
        if self._adapter is None:
            self._adapter = TypeAdapter(named(self.name))
        return self._adapter

    def validate(self, value: Any, info: core_schema.ValidationInfo[Any]) -> Any:
        """Validate as the type itself would; JSON goes through JSON again, for base64's sake."""
        if info.mode == "json":
            return self.adapter().validate_json(to_json(value), context=info.context)
        return self.adapter().validate_python(value, context=info.context)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.PlainValidatorFunctionSchema:
        return core_schema.with_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(self.adapter().core_schema)


def later(name: str) -> Any:
    """Return the annotation of a field whose type is `ostinato.types.<name>`, resolved late.

    Use it where the type checker imports the real class:
    `if TYPE_CHECKING: from ... import X` / `else: X = later("X")`.
    """
    return cast(Any, Annotated[Any, Later(name)])

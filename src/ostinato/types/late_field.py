"""Fields whose type is imported and built when they are first used.

A content names forty types and a conversation meets five. The records here, and records elsewhere
that name rare ones (grounding, citations, usage), declare such fields with `later`.
"""

import sys
from typing import Annotated, Any, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema, to_json

FACE = "ostinato.types"


def named(name: str, face: str = FACE) -> Any:
    """Return a type by its name in a lazy face, importing its file at the first call."""
    return getattr(sys.modules[face], name)


class Later:
    """Marks a field whose type is looked up in a lazy face when a first value arrives.

    Such a field costs neither the import nor the validator of its type until it is used; after
    that it validates, dumps and describes itself in JSON schema as if it had been there.
    """

    __slots__ = ("_adapter", "face", "name")

    def __init__(self, name: str, face: str = FACE) -> None:
        """Take the public `name` of the type, and the `face` that offers it."""
        self.name = name
        self.face = face
        self._adapter: TypeAdapter[Any] | None = None

    def __repr__(self) -> str:
        return f"Later({self.name!r})"

    def adapter(self) -> TypeAdapter[Any]:
        """Return the type's validator, building it at the first call."""
        if self._adapter is None:
            self._adapter = TypeAdapter(named(self.name, self.face))
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


def later(name: str, face: str = FACE) -> Any:
    """Return the annotation of a field whose type is `<face>.<name>`, resolved late.

    The face is a package that must have been imported; importing it loads none of its files.

    Use it where the type checker imports the real class:
    `if TYPE_CHECKING: from ... import X` / `else: X = later("X")`.
    """
    return cast(Any, Annotated[Any, Later(name, face)])

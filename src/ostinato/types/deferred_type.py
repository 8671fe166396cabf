"""Field types that are imported and compiled when they are first used.

A content names forty types, and a conversation meets five; records declare fields of rare types
(grounding, citations, usage) with `deferred_type`.
"""

from typing import Annotated, Any, cast

from pydantic import (
    BaseModel,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    TypeAdapter,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema, to_json

from ostinato._lazy import load

_TYPES = "ostinato.types"
_PACKAGE = "ostinato."


def load_type(name: str, module: str = _TYPES) -> Any:
    """Return a type by its name, importing its module at the first call."""
    return load(f"{module}:{name}")


class DeferredType:
    """Annotation of a field whose type is imported when its first value arrives.

    Until then the field costs neither the import nor the validator of its type; from then on it
    validates, dumps and describes itself in JSON schema as that type does.
    """

    __slots__ = ("_adapter", "module", "name")

    def __init__(self, name: str, module: str = _TYPES) -> None:
        """Take the `name` of the type and the `module` that defines it."""
        self.name = name
        self.module = module
        self._adapter: TypeAdapter[Any] | None = None

    def __repr__(self) -> str:
        return f"DeferredType({self.name!r})"

    def get_adapter(self) -> TypeAdapter[Any]:
        """Return the type's validator, building it at the first call."""
        if self._adapter is None:
            self._adapter = TypeAdapter(load_type(self.name, self.module))
        return self._adapter

    def validate(self, value: Any, info: core_schema.ValidationInfo[Any]) -> Any:
        """Validate as the type does; JSON input as JSON again, because bytes are base64 there."""
        if info.mode == "json":
            return self.get_adapter().validate_json(to_json(value), context=info.context)
        return self.get_adapter().validate_python(value, context=info.context)

    def serialize(self, value: Any, handler: SerializerFunctionWrapHandler) -> Any:
        """Dump the fields that the type declares, also of an instance of a subclass."""
        return handler(_narrow_record(value))

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.PlainValidatorFunctionSchema:
        return core_schema.with_info_plain_validator_function(
            self.validate,
            serialization=core_schema.wrap_serializer_function_ser_schema(
                self.serialize, schema=core_schema.any_schema(), when_used="unless-none"
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(self.get_adapter().core_schema)


def deferred_type(name: str, module: str = _TYPES) -> Any:
    """Return the annotation of a field of type `<module>.<name>`, which is imported late.

    The type checker imports the real class:
    `if TYPE_CHECKING: from ... import X` / `else: X = deferred_type("X")`.
    """
    return cast(Any, Annotated[Any, DeferredType(name, module)])


def _narrow_record(value: Any) -> Any:
    """Return an object of a program's subclass as one of Ostinato's class, others unchanged.

    pydantic does so by a field's class, which it does not know of a deferred type.
    """
    if not isinstance(value, BaseModel) or _is_own(type(value)):
        return value
    kind = next(filter(_is_own, type(value).__mro__), None)
    if kind is None or not issubclass(kind, BaseModel):
        return value
    known = kind.model_fields.keys()
    fields = {name: field for name, field in vars(value).items() if name in known}
    return kind.model_construct(value.model_fields_set & known, **fields)


def _is_own(kind: type) -> bool:
    return kind.__module__.startswith(_PACKAGE)

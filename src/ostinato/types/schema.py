"""Schemas of parameters and outputs: the OpenAPI dialect of the model API, and JSON schema.

Function declarations and structured output carry `Schema`; `JSONSchema` is what other systems (MCP,
pydantic) write, and the two turn into each other here.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

from pydantic import Field

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class Type(CaseInsensitiveEnum):
    """The type of a value in an OpenAPI schema."""

    TYPE_UNSPECIFIED = "TYPE_UNSPECIFIED"
    STRING = "STRING"
    NUMBER = "NUMBER"
    INTEGER = "INTEGER"
    BOOLEAN = "BOOLEAN"
    ARRAY = "ARRAY"
    OBJECT = "OBJECT"
    NULL = "NULL"


class JSONSchemaType(str, Enum):  # noqa: UP042
    """The type of a value in a JSON schema."""

    NULL = "null"
    BOOLEAN = "boolean"
    OBJECT = "object"
    ARRAY = "array"
    NUMBER = "number"
    INTEGER = "integer"
    STRING = "string"


class JSONSchema(Record):
    """A JSON schema as plain fields."""

    type: JSONSchemaType | list[JSONSchemaType] | None = None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    default: Any | None = None
    items: "JSONSchema | None" = None
    min_items: int | None = None
    max_items: int | None = None
    enum: list[Any] | None = None
    properties: "dict[str, JSONSchema] | None" = None
    required: list[str] | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    additional_properties: Any | None = None
    any_of: "list[JSONSchema] | None" = None
    unique_items: bool | None = None
    ref: str | None = Field(default=None, alias="$ref")
    defs: "dict[str, JSONSchema] | None" = Field(default=None, alias="$defs")
    one_of: "list[JSONSchema] | None" = None

    def to_json_values(self) -> dict[str, Any]:
        """Return the set fields as JSON values under the names that JSON schema has for them."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Schema(Record):
    """A schema in the OpenAPI dialect that function declarations and structured output use."""

    additional_properties: Any | None = None
    defs: "dict[str, Schema] | None" = None
    ref: str | None = None
    any_of: "list[Schema] | None" = None
    default: Any | None = None
    description: str | None = None
    enum: list[str] | None = None
    example: Any | None = None
    format: str | None = None
    items: "Schema | None" = None
    max_items: int | None = None
    max_length: int | None = None
    max_properties: int | None = None
    maximum: float | None = None
    min_items: int | None = None
    min_length: int | None = None
    min_properties: int | None = None
    minimum: float | None = None
    nullable: bool | None = None
    pattern: str | None = None
    properties: "dict[str, Schema] | None" = None
    property_ordering: list[str] | None = None
    required: list[str] | None = None
    title: str | None = None
    type: Type | None = None

    @property
    def json_schema(self) -> JSONSchema:
        """The same schema as JSON schema; `example` and `property_ordering` have no place there."""
        return _to_json_schema(self)

    @classmethod
    def from_json_schema(
        cls,
        *,
        json_schema: JSONSchema,
        api_option: Literal["ENTERPRISE", "GEMINI_API", "VERTEX_AI"] = "GEMINI_API",
        raise_error_on_unsupported_field: bool = False,
    ) -> "Schema":
        """Translate a JSON schema.

        References are written out (one that meets itself becomes an open schema); null among the
        types becomes `nullable`; several types become `any_of`. Fields that Schema lacks are
        dropped, or raise ValueError with `raise_error_on_unsupported_field`. `api_option` is
        accepted for compatibility: today the dialects do not differ.
        """
        return _Translation(json_schema.defs or {}, raise_error_on_unsupported_field).run(
            json_schema, ()
        )


_ONE = ("items",)
_MANY = ("any_of",)
_BY_NAME = ("properties", "defs")
_COMMON = ("title", "description")
_OWN_FIELDS: dict[JSONSchemaType, tuple[str, ...]] = {
    JSONSchemaType.ARRAY: ("items", "min_items", "max_items"),
    JSONSchemaType.STRING: ("enum", "format", "min_length", "max_length", "pattern"),
    JSONSchemaType.NUMBER: ("enum", "format", "minimum", "maximum"),
    JSONSchemaType.INTEGER: ("enum", "format", "minimum", "maximum"),
    JSONSchemaType.OBJECT: ("properties", "required", "min_properties", "max_properties"),
    JSONSchemaType.BOOLEAN: (),
}
_NO_PLACE_IN_JSON = ("type", "nullable", "example", "property_ordering")
_HANDLED_APART = ("type", "additional_properties", "ref", "defs")


def _set_fields(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record if value is not None}


def _to_json_schema(schema: Schema) -> JSONSchema:
    fields: dict[str, Any] = {}
    for name, value in _set_fields(schema).items():
        if name in _ONE:
            fields[name] = _to_json_schema(value)
        elif name in _MANY:
            fields[name] = [_to_json_schema(item) for item in value]
        elif name in _BY_NAME:
            fields[name] = {key: _to_json_schema(item) for key, item in value.items()}
        elif name not in _NO_PLACE_IN_JSON:
            fields[name] = value
    kinds = [JSONSchemaType.NULL] if schema.nullable else []
    if schema.type is not None and schema.type.value != "TYPE_UNSPECIFIED":
        kinds.append(JSONSchemaType(schema.type.value.lower()))
    if kinds:
        fields["type"] = kinds[0] if len(kinds) == 1 else kinds
    return JSONSchema(**fields)


def _types(schema: JSONSchema) -> list[JSONSchemaType]:
    if schema.type is None:
        return []
    return schema.type if isinstance(schema.type, list) else [schema.type]


def _is_null(schema: JSONSchema) -> bool:
    return _types(schema) == [JSONSchemaType.NULL]


class _Translation:
    """One JSON schema on its way to a Schema: its definitions, and how strict to be."""

    def __init__(self, defs: Mapping[str, JSONSchema], strict: bool) -> None:
        self.defs = defs
        self.strict = strict

    def run(self, source: JSONSchema, path: tuple[str, ...]) -> Schema:
        """Translate `source`; `path` holds the references being written out around it."""
        if source.ref is not None:
            return self._resolve_reference(source.ref, path)
        fields = self._fields(source, path)
        kinds = _types(source)
        named_kinds = [kind for kind in kinds if kind is not JSONSchemaType.NULL]
        if len(named_kinds) > 1:
            several = [self._one_of_many(kind, fields) for kind in named_kinds]
            fields = dict[str, Any](any_of=several)
        elif named_kinds:
            fields["type"] = named_kinds[0].value.upper()
        if JSONSchemaType.NULL in kinds:
            fields["nullable"] = True
        return self._without_null(source, fields, path)

    def _resolve_reference(self, ref: str, path: tuple[str, ...]) -> Schema:
        name = ref.rsplit("/", 1)[-1]
        if name in path:
            return Schema()
        if name not in self.defs:
            raise ValueError(f"JSON schema refers to {ref!r}, which $defs lacks; add it")
        return self.run(self.defs[name], (*path, name))

    def _fields(self, source: JSONSchema, path: tuple[str, ...]) -> dict[str, Any]:
        """Return what carries over, without the type."""
        fields: dict[str, Any] = {}
        for name, value in _set_fields(source).items():
            if name in _HANDLED_APART:
                continue
            if name not in Schema.model_fields:
                if self.strict:
                    raise ValueError(f"JSON schema field {name!r} has no counterpart in Schema")
            elif name in _ONE:
                fields[name] = self.run(value, path)
            elif name in _MANY:
                fields[name] = [self.run(item, path) for item in value]
            elif name in _BY_NAME:
                fields[name] = {key: self.run(item, path) for key, item in value.items()}
            elif name == "enum":
                fields[name] = [str(choice) for choice in value if choice is not None]
            else:
                fields[name] = value
        return fields

    def _one_of_many(self, kind: JSONSchemaType, fields: dict[str, Any]) -> Schema:
        own = {name: fields[name] for name in (*_COMMON, *_OWN_FIELDS[kind]) if name in fields}
        return Schema(type=Type(kind.value), **own)

    def _without_null(
        self, source: JSONSchema, fields: dict[str, Any], path: tuple[str, ...]
    ) -> Schema:
        """Make `X or null` a nullable X; only the outer default is kept, as in google-genai."""
        choices = source.any_of or []
        others = [choice for choice in choices if not _is_null(choice)]
        if len(choices) != 2 or len(others) != 1:
            return Schema(**fields)
        inner = self.run(others[0], path)
        inner.nullable = True
        if "default" in fields:
            inner.default = fields["default"]
        return inner

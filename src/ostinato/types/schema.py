"""The OpenAPI schema of parameters and outputs."""

from typing import Any

from ostinato.types._record import CaseInsensitiveEnum, Record


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

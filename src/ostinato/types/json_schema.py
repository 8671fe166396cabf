"""JSON schema as a record, for code that translates schemas."""

from enum import Enum
from typing import Any

from pydantic import Field

from ostinato.types._record import Record


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

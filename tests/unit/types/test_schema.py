"""Schemas: from JSON schema and back."""

from typing import Any

import pytest

from ostinato.types import JSONSchema, Schema, Type


def read(source: dict[str, object], **options: Any) -> dict[str, object]:
    schema = Schema.from_json_schema(json_schema=JSONSchema.model_validate(source), **options)
    return schema.model_dump(exclude_none=True, mode="json")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, {}),
        ({"type": "null"}, {"nullable": True}),
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        (
            {"type": ["string", "array"], "items": {"type": "integer"}, "description": "d"},
            {
                "any_of": [
                    {"type": "STRING", "description": "d"},
                    {"type": "ARRAY", "items": {"type": "INTEGER"}, "description": "d"},
                ]
            },
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "x", "title": "T"},
            {"type": "STRING", "nullable": True, "default": "x"},
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            {"any_of": [{"type": "STRING"}, {"type": "INTEGER"}, {"nullable": True}]},
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/X"}}, "$defs": {"X": {}}},
            {"type": "OBJECT", "properties": {"a": {}}},
        ),
        (
            {
                "$ref": "#/$defs/N",
                "$defs": {"N": {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}}},
            },
            {"type": "OBJECT", "properties": {"n": {}}},
        ),
        ({"type": "array", "uniqueItems": True}, {"type": "ARRAY"}),
        ({"enum": ["a", 1, None]}, {"enum": ["a", "1"]}),
    ],
)
def test_from_json_schema(source: dict[str, object], expected: dict[str, object]) -> None:
    assert read(source) == expected


def test_what_cannot_be_translated_raises() -> None:
    with pytest.raises(ValueError, match="one_of"):
        read({"oneOf": [{"type": "string"}]}, raise_error_on_unsupported_field=True)
    with pytest.raises(ValueError, match="Missing"):
        read({"$ref": "#/$defs/Missing"})


def test_to_json_schema() -> None:
    schema = Schema(
        type=Type.OBJECT,
        properties={"a": Schema(type=Type.STRING, nullable=True, enum=["x"], example="x")},
        any_of=[Schema(type=Type.ARRAY, items=Schema(type=Type.NUMBER, minimum=1))],
        required=["a"],
        property_ordering=["a"],
        defs={"X": Schema(type=Type.BOOLEAN)},
    )
    written = schema.json_schema.model_dump(exclude_none=True, by_alias=True, mode="json")
    assert written == {
        "type": "object",
        "properties": {"a": {"type": ["null", "string"], "enum": ["x"]}},
        "anyOf": [{"type": "array", "items": {"type": "number", "minimum": 1.0}}],
        "required": ["a"],
        "$defs": {"X": {"type": "boolean"}},
    }
    assert Schema(type=Type.TYPE_UNSPECIFIED).json_schema == JSONSchema()

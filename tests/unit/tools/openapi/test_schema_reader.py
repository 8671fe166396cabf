"""Schemas as models get them: references, recursion, allOf, nullable, types, read-only."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.tools.openapi.schema_merge import merge_schemas
from ostinato.tools.openapi.schema_reader import SchemaReader
from ostinato.tools.openapi.spec_document import SpecDocument, SpecError
from tests.unit.tools.openapi.documents import make_document


def read(schema: Any, version: str = "3.1.0", **schemas: Any) -> tuple[dict[str, Any], Any]:
    """Return a schema as a model gets it, and its definitions."""
    raw = make_document({}, version=version, components={"schemas": schemas})
    reader = SchemaReader(SpecDocument(raw), {})
    return reader.read_open(schema), reader.definitions


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def test_references_are_replaced_by_their_targets() -> None:
    found, definitions = read(
        {"items": ref("A")}, A={"properties": {"b": ref("B")}}, B={"type": "string"}
    )
    assert found == {"items": {"properties": {"b": {"type": "string"}}}}
    assert not definitions


def test_a_schema_that_holds_itself_is_a_definition() -> None:
    node = {"type": "object", "properties": {"next": ref("Node"), "n": {"type": "integer"}}}
    found, definitions = read({"type": "array", "items": ref("Node")}, Node=node)
    inner = {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}}
    assert found["items"] == {"$ref": "#/$defs/Node"}
    assert definitions == {"Node": {"type": "object", "properties": inner}}


def test_schemas_that_hold_each_other_are_definitions() -> None:
    found, definitions = read(
        ref("A"), A={"properties": {"b": ref("B")}}, B={"properties": {"a": ref("A")}}
    )
    assert found == {"properties": {"b": {"$ref": "#/$defs/B"}}}
    assert definitions["B"] == {"properties": {"a": {"$ref": "#/$defs/A"}}}
    assert definitions["A"] == found


def test_definitions_of_like_names_are_kept_apart() -> None:
    one = {"properties": {"x": {"$ref": "#/components/schemas/A~1b"}}}
    two = {"properties": {"x": {"$ref": "#/components/schemas/A_b"}, "two": {}}}
    found, definitions = read(
        {"anyOf": [{"$ref": "#/components/schemas/A~1b"}, ref("A_b")]}, **{"A/b": one, "A_b": two}
    )
    assert [one["$ref"] for one in found["anyOf"]] == ["#/$defs/A_b", "#/$defs/A_b_2"]
    assert "two" in definitions["A_b_2"]["properties"]


def test_all_of_is_merged() -> None:
    found, _ = read(
        {"allOf": [ref("Base"), {"required": ["b"], "properties": {"b": {"type": "integer"}}}],
         "description": "Both."},
        Base={"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
    )  # fmt: skip
    assert found == {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "description": "Both.",
    }


def test_all_of_that_one_schema_cannot_say_stays() -> None:
    found, _ = read({"allOf": [{"oneOf": [{"type": "string"}]}, {"oneOf": [{"minLength": 2}]}]})
    assert found == {"allOf": [{"oneOf": [{"type": "string"}]}, {"oneOf": [{"minLength": 2}]}]}


@pytest.mark.parametrize(
    ("one", "two", "wanted"),
    [
        ({"minimum": 1, "maximum": 9}, {"minimum": 3, "maximum": 12}, {"minimum": 3, "maximum": 9}),
        ({"type": "integer"}, {"type": "number"}, {"type": "integer"}),
        ({"type": ["string", "null"]}, {"type": "string"}, {"type": "string"}),
        ({"enum": [1, 2]}, {"enum": [2, 3]}, {"enum": [2]}),
        ({"enum": [1]}, {"enum": [2]}, None),
        ({"type": "string"}, {"type": "object"}, None),
        ({"additionalProperties": True}, {"additionalProperties": False},
         {"additionalProperties": False}),
        ({"properties": {"a": {"enum": [1]}}}, {"properties": {"a": {"enum": [2]}}},
         {"properties": {"a": {"allOf": [{"enum": [1]}, {"enum": [2]}]}}}),
    ],
)  # fmt: skip
def test_merging(one: Any, two: Any, wanted: Any) -> None:
    assert merge_schemas([one, two]) == wanted


def test_read_only_properties_are_left_out() -> None:
    found, _ = read(
        {"required": ["id", "name", "at"],
         "properties": {"id": {"readOnly": True}, "at": ref("Stamp"), "name": {"writeOnly": True}}},
        Stamp={"type": "string", "readOnly": True},
    )  # fmt: skip
    assert found == {"required": ["name"], "properties": {"name": {"writeOnly": True}}}


def test_read_only_properties_of_a_part_are_left_out() -> None:
    found, _ = read(
        {"allOf": [ref("Base")], "required": ["id", "b"], "properties": {"b": {}}},
        Base={"properties": {"id": {"readOnly": True}}},
    )
    assert found == {"required": ["b"], "properties": {"b": {}}}


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True},
         {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": "Any"}, {}),
        ({"type": ["object", "NULL", "Any"]}, {"type": ["object", "null"]}),
        ({"properties": {"type": {"type": "Any"}}}, {"properties": {"type": {}}}),
        ({"xml": {}, "externalDocs": {}, "x-go": 1, "discriminator": {}, "title": "T"},
         {"title": "T"}),
        ({"required": True, "type": "string"}, {"type": "string"}),
        ({"additionalProperties": {"type": "Any"}}, {"additionalProperties": {}}),
        ({"not": False, "items": True}, {"not": False, "items": True}),
        ({"prefixItems": [True, {"type": "string"}]}, {"prefixItems": [{}, {"type": "string"}]}),
        (False, {"not": {}}),
    ],
)  # fmt: skip
def test_fields(schema: Any, wanted: Any) -> None:
    assert read(schema, "3.0.3")[0] == wanted


def test_fields_beside_a_reference_count_from_3_1_on() -> None:
    beside = {**ref("A"), "description": "Mine.", "default": 3}
    target = {"type": "integer", "description": "Theirs."}
    assert read(beside, "3.0.3", A=target)[0] == target
    wanted = {"type": "integer", "description": "Mine.", "default": 3}
    assert read(beside, "3.1.0", A=target)[0] == wanted


def test_a_dangling_reference_is_named() -> None:
    with pytest.raises(SpecError, match="#/components/schemas/Gone"):
        read({"properties": {"a": ref("Gone")}})


def test_a_schema_that_is_only_itself_is_refused() -> None:
    with pytest.raises(SpecError, match="leads in a circle"):
        read({"properties": {"a": ref("A")}}, A=ref("B"), B=ref("A"))

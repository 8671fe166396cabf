"""SetModelResponseTool: the schema as parameters, and the check of the answer."""

import datetime
from typing import Any

import pytest
from pydantic import BaseModel, Field

from ostinato import types
from ostinato.tools.model_mistake import ModelMistake
from ostinato.tools.set_model_response_tool import SetModelResponseTool
from tests.support.optionals import present
from tests.unit.tools.contexts import make_context


class Leg(BaseModel):
    """One flight."""

    to: str
    day: datetime.date | None = None


class Trip(BaseModel):
    """A trip."""

    name: str
    legs: list[Leg] = []


class Named(BaseModel):
    full_name: str = Field(alias="fullName")


LEG: dict[str, Any] = {
    "description": "One flight.",
    "properties": {
        "to": {"title": "To", "type": "string"},
        "day": {
            "anyOf": [{"format": "date", "type": "string"}, {"type": "null"}],
            "default": None,
            "title": "Day",
        },
    },
    "required": ["to"],
    "title": "Leg",
    "type": "object",
}


def parameters_of(schema: Any) -> dict[str, Any]:
    declaration = SetModelResponseTool(schema)._get_declaration()
    assert declaration is not None and declaration.name == "set_model_response"
    return present(declaration.parameters_json_schema)


@pytest.mark.spec(127)
def test_the_fields_of_a_model_are_the_parameters() -> None:
    assert parameters_of(Trip) == {
        "$defs": {"Leg": LEG},
        "properties": {
            "name": {"title": "Name", "type": "string"},
            "legs": {
                "default": [],
                "items": {"$ref": "#/$defs/Leg"},
                "title": "Legs",
                "type": "array",
            },
        },
        "required": ["name"],
        "title": "set_model_responseParams",
        "type": "object",
    }


@pytest.mark.spec(127)
def test_a_list_of_models_has_the_parameter_items() -> None:
    assert parameters_of(list[Leg]) == {
        "$defs": {"Leg": LEG},
        "properties": {
            "items": {"items": {"$ref": "#/$defs/Leg"}, "title": "Items", "type": "array"}
        },
        "required": ["items"],
        "title": "set_model_responseParams",
        "type": "object",
    }


@pytest.mark.spec(127)
@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (str, {"title": "Response", "type": "string"}),
        (list[str], {"items": {"type": "string"}, "title": "Response", "type": "array"}),
        (
            dict[str, int],
            {"additionalProperties": {"type": "integer"}, "title": "Response", "type": "object"},
        ),
        ({"type": "object", "properties": {"q": {"type": "string"}}},) * 2,
    ],
)
def test_any_other_schema_has_the_parameter_response(schema: Any, expected: Any) -> None:
    assert parameters_of(schema) == {
        "properties": {"response": expected},
        "required": ["response"],
        "title": "set_model_responseParams",
        "type": "object",
    }


def test_definitions_of_a_given_schema_stay_where_its_references_point() -> None:
    given = {"$defs": {"Q": {"type": "string"}}, "properties": {"q": {"$ref": "#/$defs/Q"}}}
    schema = parameters_of(given)
    assert schema["$defs"] == {"Q": {"type": "string"}}
    assert schema["properties"] == {"response": {"properties": {"q": {"$ref": "#/$defs/Q"}}}}
    assert "$defs" in given


def test_a_schema_record_is_told_as_json_schema() -> None:
    record = types.Schema(
        type=types.Type.OBJECT, properties={"q": types.Schema(type=types.Type.STRING)}
    )
    told = parameters_of(record)["properties"]["response"]
    assert told == {"type": "object", "properties": {"q": {"type": "string"}}}


@pytest.mark.spec(127)
@pytest.mark.parametrize(
    ("schema", "args", "answer"),
    [
        (Trip, {"name": "n", "legs": [{"to": "Rome"}]}, {"name": "n", "legs": [{"to": "Rome"}]}),
        (Leg, {"to": "Rome", "day": "2026-01-02"}, {"to": "Rome", "day": "2026-01-02"}),
        (Named, {"fullName": "Ada"}, {"full_name": "Ada"}),
        (list[Leg], {"items": [{"to": "Rome"}]}, [{"to": "Rome"}]),
        (dict[str, int], {"response": {"a": "1"}}, {"a": 1}),
        (str, {"response": "x"}, "x"),
        ({"type": "object"}, {"response": {"q": 1}}, {"q": 1}),
    ],
)
async def test_a_fitting_answer_is_set_as_the_final_one(
    schema: Any, args: dict[str, Any], answer: Any
) -> None:
    context = make_context()
    tool = SetModelResponseTool(schema)
    assert await tool.run_async(args=args, tool_context=context) == answer
    assert context.actions.set_model_response == answer


@pytest.mark.spec(127)
@pytest.mark.parametrize(
    ("schema", "args", "found"),
    [
        (Trip, {"legs": [{}]}, "name: Field required\nlegs.0.to: Field required"),
        (dict[str, int], {"response": {"a": "x"}}, "a: Input should be a valid integer"),
        (list[Leg], {}, "\nitems\n"),
        (str, {}, "\nresponse\n"),
        ({"type": "object"}, {"response": "text"}, "Input should be a valid dictionary"),
    ],
)
async def test_an_answer_that_does_not_fit_goes_back_to_the_model(
    schema: Any, args: dict[str, Any], found: str
) -> None:
    context = make_context()
    answer = await SetModelResponseTool(schema).run_async(args=args, tool_context=context)
    assert isinstance(answer, ModelMistake)
    assert found in answer.message
    assert "set_model_response" in answer.message
    assert context.actions.is_empty()

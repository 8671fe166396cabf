"""Declarations: how a function's parameters are told to the model."""

import enum
import functools
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

from ostinato.context.context import Context
from ostinato.errors import AgentConfigError
from ostinato.tools.function_tool import FunctionTool
from ostinato.tools.long_running_tool import LongRunningFunctionTool
from ostinato.tools.tool_context import ToolContext
from ostinato.tools.transfer_to_agent_tool import TransferToAgentTool
from tests.support.optionals import present


class Inner(BaseModel):
    """Inner doc"""

    x: int = Field(description="the x", ge=1)


class Outer(BaseModel):
    a: str
    inner: Inner
    many: list[Inner] = []


class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"


OUTER: dict[str, Any] = {
    "properties": {
        "a": {"title": "A", "type": "string"},
        "inner": {"$ref": "#/$defs/Inner"},
        "many": {
            "default": [],
            "items": {"$ref": "#/$defs/Inner"},
            "title": "Many",
            "type": "array",
        },
    },
    "required": ["a", "inner"],
    "title": "Outer",
    "type": "object",
}
INNER: dict[str, Any] = {
    "description": "Inner doc",
    "properties": {"x": {"description": "the x", "minimum": 1, "title": "X", "type": "integer"}},
    "required": ["x"],
    "title": "Inner",
    "type": "object",
}


def schema_of(func: Any) -> dict[str, Any]:
    declaration = FunctionTool(func)._get_declaration()
    assert declaration is not None
    return present(declaration.parameters_json_schema)


def properties_of(func: Any) -> dict[str, Any]:
    return schema_of(func)["properties"]


@pytest.mark.spec(128)
def test_name_docstring_types_defaults_and_what_is_required() -> None:
    def add(first_one: int, b: str = "z") -> int:
        """Add.

        Args:
          first_one: a number
        """
        return 0

    declaration = FunctionTool(add)._get_declaration()
    assert declaration is not None
    assert declaration.model_dump(exclude_none=True) == {
        "name": "add",
        "description": "Add.\n\nArgs:\n  first_one: a number",
        "parameters_json_schema": {
            "properties": {
                "first_one": {"title": "First One", "type": "integer"},
                "b": {"default": "z", "title": "B", "type": "string"},
            },
            "required": ["first_one"],
            "title": "addParams",
            "type": "object",
        },
    }


def test_without_parameters_and_docstring_only_the_name_is_told() -> None:
    def ping():
        return "pong"

    declaration = FunctionTool(ping)._get_declaration()
    assert declaration is not None
    assert declaration.model_dump(exclude_none=True) == {"name": "ping"}


def test_unions_literals_enums_lists_and_dicts() -> None:
    def f(
        a: int | None,
        u: float | str,
        b: Optional[str] = None,
        c: Literal["x", "y"] = "x",
        d: Colour = Colour.RED,
        e: list[int] = [],  # noqa: B006
        g: dict[str, int] | None = None,
        h: dict = {},  # noqa: B006
        i: Any = None,
        j=3,
    ):
        return None

    schema = schema_of(f)
    assert schema["$defs"] == {"Colour": {"enum": ["r", "g"], "title": "Colour", "type": "string"}}
    assert schema["required"] == ["a", "u"]
    integers = {"additionalProperties": {"type": "integer"}, "type": "object"}
    assert schema["properties"] == {
        "a": {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "A"},
        "u": {"anyOf": [{"type": "number"}, {"type": "string"}], "title": "U"},
        "b": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "B"},
        "c": {"default": "x", "enum": ["x", "y"], "title": "C", "type": "string"},
        "d": {"$ref": "#/$defs/Colour", "default": "r"},
        "e": {"default": [], "items": {"type": "integer"}, "title": "E", "type": "array"},
        "g": {"anyOf": [integers, {"type": "null"}], "default": None, "title": "G"},
        "h": {"additionalProperties": True, "default": {}, "title": "H", "type": "object"},
        "i": {"default": None, "title": "I"},
        "j": {"default": 3, "title": "J"},
    }


def test_nested_models_become_shared_definitions() -> None:
    def f(one: Outer, many: list[Outer], perhaps: Outer | Inner | None = None):
        return None

    schema = schema_of(f)
    assert schema["$defs"] == {"Inner": INNER, "Outer": OUTER}
    assert schema["properties"]["one"] == {"$ref": "#/$defs/Outer"}
    assert schema["properties"]["many"]["items"] == {"$ref": "#/$defs/Outer"}
    assert schema["properties"]["perhaps"]["anyOf"] == [
        {"$ref": "#/$defs/Outer"},
        {"$ref": "#/$defs/Inner"},
        {"type": "null"},
    ]


def test_descriptions_and_limits_in_annotations_are_told() -> None:
    def f(a: Annotated[int, Field(description="how many", gt=0)], b: int = Field(3, le=9)):
        return None

    schema = schema_of(f)
    assert schema["required"] == ["a"]
    assert schema["properties"]["a"] == {
        "description": "how many",
        "exclusiveMinimum": 0,
        "title": "A",
        "type": "integer",
    }
    assert schema["properties"]["b"] == {
        "default": 3,
        "maximum": 9,
        "title": "B",
        "type": "integer",
    }


@pytest.mark.spec(142)
def test_contexts_and_star_arguments_are_left_out() -> None:
    def by_name(a: int, tool_context, *args: int, **rest: int):
        return None

    def by_type(ctx: ToolContext, a: int):
        return None

    def by_optional_type(a: int, ctx: Optional[Context] = None):
        return None

    for func in (by_name, by_type, by_optional_type):
        assert list(properties_of(func)) == ["a"]


@pytest.mark.spec(142)
def test_a_context_type_that_only_the_type_checker_imports_is_known_by_its_name() -> None:
    def f(a: int, ctx: "somewhere.ToolContext | None" = None):  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        return None

    assert list(properties_of(f)) == ["a"]


def test_bound_arguments_of_a_partial_are_not_the_models() -> None:
    def f(user: str, city: str):
        """Look."""
        return None

    tool = FunctionTool(functools.partial(f, user="u"))
    assert (tool.name, tool.description) == ("f", "Look.")
    assert list(properties_of(functools.partial(f, user="u"))) == ["city"]


def test_methods_and_objects_are_named_after_themselves() -> None:
    class Scale:
        """Weighs."""

        def __call__(self, kilos: float):
            return kilos

        def reset(self, hard: bool = False):
            """Start again."""
            return hard

    tool = FunctionTool(Scale())
    assert (tool.name, tool.description) == ("Scale", "Weighs.")
    assert list(properties_of(Scale())) == ["kilos"]
    method = FunctionTool(Scale().reset)
    assert (method.name, method.description) == ("reset", "Start again.")
    assert list(properties_of(Scale().reset)) == ["hard"]


def test_a_default_that_json_cannot_say_is_not_told() -> None:
    def f(a: int, where=object()):  # noqa: B008
        return None

    assert properties_of(f)["where"] == {"title": "Where"}


def test_a_parameter_may_be_called_like_a_field_of_pydantic() -> None:
    def f(schema: str, model_config: int, copy: bool = True):
        return None

    assert list(properties_of(f)) == ["schema", "model_config", "copy"]


class Socket:
    """Not JSON."""


def test_types_that_json_cannot_carry_are_refused_with_a_remedy() -> None:
    def f(line: Socket):
        return None

    with pytest.raises(AgentConfigError, match=r"'f'.*'line'.*Socket.*pydantic model"):
        schema_of(f)


def test_types_that_do_not_exist_are_refused_with_a_remedy() -> None:
    def f(a: "Nothing"):  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        return None

    with pytest.raises(AgentConfigError, match=r"'f'.*Nothing.*'a'.*module level"):
        schema_of(f)


def test_positional_only_parameters_are_refused_with_a_remedy() -> None:
    def f(a: int, /):
        return a

    with pytest.raises(AgentConfigError, match=r"'f'.*'a' is positional-only.*Wrap"):
        schema_of(f)


def test_builtins_that_do_not_tell_their_parameters_are_refused_with_a_remedy() -> None:
    with pytest.raises(AgentConfigError, match=r"'max'.*Wrap"):
        FunctionTool(max)._get_declaration()


def test_the_declaration_is_made_once() -> None:
    def f(a: int):
        return a

    tool = FunctionTool(f)
    assert tool._get_declaration() is tool._get_declaration()
    tool.name = "g"
    declaration = tool._get_declaration()
    assert declaration is not None and declaration.name == "g"


@pytest.mark.spec(150)
def test_a_transfer_names_the_agents_it_may_go_to() -> None:
    one, two = TransferToAgentTool(["a", "b"]), TransferToAgentTool(["c"])
    for tool, names in ((one, ["a", "b"]), (two, ["c"])):
        declaration = tool._get_declaration()
        assert declaration is not None
        assert declaration.name == "transfer_to_agent"
        assert declaration.parameters_json_schema == {
            "properties": {"agent_name": {"enum": names, "title": "Agent Name", "type": "string"}},
            "required": ["agent_name"],
            "title": "transfer_to_agentParams",
            "type": "object",
        }


def test_a_long_running_tool_says_not_to_call_it_again() -> None:
    def start(job: str):
        """Start a job."""
        return None

    tool = LongRunningFunctionTool(start)
    declaration = tool._get_declaration()
    assert declaration is not None and declaration.description is not None
    assert tool.is_long_running
    assert declaration.description.startswith("Start a job.\n\nNOTE:")
    assert "call it again" in declaration.description
    assert FunctionTool(start)._get_declaration().description == "Start a job."  # pyright: ignore

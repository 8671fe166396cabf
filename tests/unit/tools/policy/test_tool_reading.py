"""Rules decide on the values that the tool gets, as well as on those that the model gave."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
)

from ostinato import Agent
from ostinato.tools import AgentTool, BaseTool, FunctionTool
from ostinato.tools.function.schema_tool import SchemaTool
from ostinato.tools.policy import Policy, Rule, ToolRequest
from ostinato.tools.policy.gate import make_request
from ostinato.tools.policy.ledger import read_amount


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    amount: int = Field(alias="amt")


class Chosen(BaseModel):
    amount: int = Field(
        validation_alias=AliasChoices("amount", "amt", AliasPath("amounts", 0), AliasPath("x", "y"))
    )


class Filled(BaseModel):
    amount: int = 9999
    note: str = Field(default="", exclude=True)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    inner: Filled = Filled()


class Swapped(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    a: int = Field(alias="b")
    b: int = Field(alias="c")


class Color(Enum):
    RED = "red"


@dataclass
class Point:
    amount: Decimal = Decimal("9999.5")
    tags: set[str] = field(default_factory=lambda: {"x"})


class Many(RootModel[list[Filled]]):
    pass


class Secret(BaseModel):
    word: SecretStr
    path: Path = Path("/etc")
    wait: timedelta = timedelta(seconds=500)


class Own:
    """A class of which pydantic knows nothing."""


def make_tool(kind: Any, default: Any = ...) -> BaseTool:
    if default is ...:

        def pay(p: Any) -> str:
            """Pay."""
            return repr(p)

    else:

        def pay(p: Any = default) -> str:
            """Pay."""
            return repr(p)

    pay.__annotations__["p"] = kind
    return FunctionTool(pay)


def decide(tool: BaseTool, args: dict[str, Any], pointer: str, condition: Any) -> tuple[str, str]:
    """The verdicts of a rule that denies, and of one that alone allows."""
    request = make_request(tool, args)
    fields: dict[str, Any] = {"id": "r", "args": {pointer: condition}}
    policies = (
        Policy(rules=[Rule(verdict="deny", **fields)]),
        Policy(rules=[Rule(verdict="allow", **fields)], default="deny"),
    )
    deny, allow = (policy.decide(request).verdict for policy in policies)
    return deny, allow


@pytest.mark.parametrize(
    ("kind", "value", "pointer"),
    [
        (Aliased, {"amount": 5, "amt": 500}, "/p/amount"),
        (Aliased, {"amount": 500}, "/p/amt"),
        (Aliased, {"amt": 500}, "/p/amount"),
        (Aliased, {"amt": 5, "amount": 500}, "/p/amount"),
        (Chosen, {"amt": 500}, "/p/amount"),
        (Chosen, {"amount": 500, "amounts": [5]}, "/p/amounts/0"),
        (Chosen, {"amounts": [500]}, "/p/amount"),
        (Chosen, {"x": {"y": 5}, "amount": 500}, "/p/x/y"),
        (Filled, {}, "/p/amount"),
        (list[Filled], [{"amount": 5}, {}], "/p/*/amount"),
        (dict[str, Filled], {"k": {}}, "/p/k/amount"),
        (Filled | None, {}, "/p/amount"),
        (tuple[Filled, ...], [{}], "/p/0/amount"),
        (Open, {}, "/p/inner/amount"),
        (Open, {"more": "500"}, "/p/more"),
        (Point, {}, "/p/amount"),
        (Many, [{}], "/p/0/amount"),
        (Secret, {"word": "w"}, "/p/wait"),
        (Annotated[int, BeforeValidator(lambda value: int(value) * 100)], 5, "/p"),
        (int, "1_000", "/p"),
    ],
)
def test_the_value_that_the_tool_gets_counts(kind: Any, value: Any, pointer: str) -> None:
    assert decide(make_tool(kind), {"p": value}, pointer, {"gt": 100})[0] == "deny"
    assert decide(make_tool(kind), {"p": value}, pointer, {"lte": 100})[1] == "deny"


@pytest.mark.parametrize(
    ("kind", "value", "pointer", "wanted"),
    [
        (Aliased, {"amt": 5}, "/p/amt", 5),
        (Aliased, {"amt": 5}, "/p/amount", 5),
        (Chosen, {"amounts": [5]}, "/p/amounts/*", 5),
        (Filled, {"note": "x"}, "/p/note", "x"),
        (Color, "red", "/p", "red"),
        (Point, {"tags": ["x"]}, "/p/tags/*", "x"),
        (Secret, {"word": "w"}, "/p/word", "w"),
        (Secret, {"word": "w", "path": "/tmp/a"}, "/p/path", {"like": "/tmp/*"}),
        (Any, {"a": 1}, "/p/a", 1),
        (float, 5, "/p", 5),
    ],
)
def test_a_good_value_is_allowed(kind: Any, value: Any, pointer: str, wanted: Any) -> None:
    assert decide(make_tool(kind), {"p": value}, pointer, wanted) == ("deny", "allow")


def test_the_raw_value_counts_too() -> None:
    tool = make_tool(Annotated[str, BeforeValidator(str.strip)])
    assert decide(tool, {"p": " x "}, "/p", "x") == ("deny", "deny")
    assert decide(tool, {"p": " x "}, "/p", " x ") == ("deny", "deny")


def test_a_value_that_the_tool_drops_counts_as_missing_too() -> None:
    assert decide(make_tool(Filled), {"p": {"ok": 1}}, "/p/ok", {"exists": False})[0] == "deny"
    assert decide(make_tool(Filled), {"p": {"ok": 1}}, "/p/ok", 1) == ("deny", "deny")


def test_a_name_that_is_the_alias_of_another_field_cannot_be_said() -> None:
    for low in ({"b": 5, "c": 500}, {"b": 500, "c": 5}):
        assert decide(make_tool(Swapped), {"p": low}, "/p/b", {"gt": 100})[0] == "deny"


def test_defaults_of_parameters_count_with_all_their_fields() -> None:
    assert decide(make_tool(Filled, Filled()), {}, "/p/amount", {"gt": 100})[0] == "deny"
    assert decide(make_tool(Filled, Filled(note="x")), {}, "/p/note", "x")[0] == "deny"
    assert decide(make_tool(Filled | None, None), {}, "/p/amount", {"gt": 100})[0] == "allow"


def test_a_value_of_an_own_class_is_judged_by_what_it_was_made_of() -> None:
    def make(value: Any) -> Own:
        return Own()

    tool = make_tool(Annotated[Any, BeforeValidator(make)])
    assert decide(tool, {"p": {"a": 1}}, "/p/a", 1) == ("deny", "allow")


def test_arguments_that_do_not_fit_are_judged_as_they_are() -> None:
    assert decide(make_tool(Filled), {"p": {"amount": "x"}}, "/p/amount", "x") == ("deny", "allow")


def test_a_validator_that_fails_otherwise_counts_against_the_call() -> None:
    def fail(value: Any) -> Any:
        raise OSError("no network")

    tool = make_tool(Annotated[int, BeforeValidator(fail)])
    assert decide(tool, {"p": 5}, "/p", {"gt": 100}) == ("deny", "deny")


def test_schema_tools_and_agents_with_an_input_schema() -> None:
    agent = Agent(name="payer", description="Pays.", model="m", input_schema=Chosen)
    tools = (
        SchemaTool(lambda **values: values, name="pay", description="Pay.", schema=Chosen),
        AgentTool(agent),
    )
    for tool in tools:
        args = {"amount": 500, "amt": 5}
        assert decide(tool, args, "/amt", {"gt": 100})[0] == "deny"


def test_sums_count_the_larger_amount() -> None:
    args = {"p": {"amount": 5, "amt": 500}}
    request = make_request(make_tool(Aliased), args)
    assert request.read is not None
    assert read_amount("/p/amount", args, request.read({"p"})) == 500
    filled = cast("Any", make_request(make_tool(Filled), {"p": {}})).read({"p"})
    assert read_amount("/p/amount", {"p": {}}, filled) == 9999


def test_arguments_that_no_rule_names_are_not_validated() -> None:
    read: list[str] = []

    def note(value: Any) -> Any:
        read.append(value)
        return value

    def pay(a: Annotated[Any, BeforeValidator(note)], b: int) -> None:
        """Pay."""

    policy = Policy(rules=[Rule(id="r", verdict="deny", args={"/b": 5})])
    assert policy.decide(make_request(FunctionTool(pay), {"a": "x", "b": 5})).verdict == "deny"
    assert read == []


def test_a_request_without_a_tool_has_only_what_was_given() -> None:
    assert ToolRequest("pay", {}).read is None


Pair = namedtuple("Pair", "amount to")


def test_a_named_tuple_is_a_list() -> None:
    tool = make_tool(Pair)
    assert decide(tool, {"p": [500, "x"]}, "/p/0", {"gt": 100})[0] == "deny"

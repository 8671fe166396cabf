"""Edited arguments: nothing in them is converted or dropped, however deep it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from ostinato import Agent
from ostinato.tools import AgentTool, FunctionTool
from ostinato.tools.function.schema_tool import SchemaTool
from ostinato.tools.json_fit import check_schema, fit_schema


class Item(BaseModel):
    qty: int = 1
    on: bool = False


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    age: int = 1


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    size: int = 1


class Node(BaseModel):
    size: int = 1
    below: list[Node] = []


class Empty(BaseModel):
    pass


class Pair(NamedTuple):
    left: int
    right: int


class Sizes(TypedDict, total=False):
    width: int


@dataclass
class Point:
    x: int = 0


class Order(BaseModel):
    counts: dict[str, int] = {}
    lists: dict[str, list[int]] = {}
    by_name: dict[str, Item] = {}
    pair: tuple[int, str] = (1, "a")
    many: tuple[int, ...] = ()
    named: Pair = Pair(1, 2)
    either: int | str | None = None
    rank: Literal[1, "a"] = 1
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    anything: dict[str, Any] = {}
    mixed: Item | list[Item] | None = None
    sizes: Sizes = {}
    point: Point = Field(default_factory=Point)
    open: Open = Open()
    tree: Node = Node()
    empty: Empty = Empty()


def place(order: Order) -> str:
    """Place an order."""
    return "placed"


TOOL = FunctionTool(place)


@pytest.mark.parametrize(
    "fields",
    [
        {"counts": {"a": "9"}},
        {"counts": {"a": 1.0}},
        {"counts": {"a": True}},
        {"lists": {"a": ["9"]}},
        {"by_name": {"k": {"qty": "9"}}},
        {"by_name": {"k": {"on": "yes"}}},
        {"pair": ["1", "a"]},
        {"pair": [1, 2]},
        {"pair": "[1, 2]"},
        {"many": [1, "2"]},
        {"named": [1, "2"]},
        {"either": True},
        {"either": 1.0},
        {"rank": True},
        {"rank": 1.0},
        {"pet": {"kind": "cat", "lives": "3"}},
        {"mixed": {"qty": "9"}},
        {"mixed": [{"qty": 1.0}]},
        {"sizes": {"width": "1"}},
        {"point": {"x": "1"}},
        {"open": {"size": "1"}},
        {"tree": {"below": [{"below": [{"size": "1"}]}]}},
    ],
)
def test_nothing_in_an_edit_is_converted(fields: dict[str, Any]) -> None:
    assert "order" in TOOL.find_argument_fault({"order": fields})


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"quantity": 2}, "args.order has quantity, which it may not have; there are: counts, "),
        ({"by_name": {"k": {"quantity": 9}}}, "args.order.by_name.k has quantity"),
        ({"mixed": [{"Qty": 9}]}, "args.order.mixed[0] has Qty"),
        ({"pet": {"kind": "dog", "lives": 3}}, "args.order.pet has lives"),
        ({"sizes": {"height": 1}}, "args.order.sizes has height"),
        ({"point": {"X": 1}}, "args.order.point has X"),
        ({"tree": {"below": [{"sise": 1}]}}, "args.order.tree.below[0] has sise"),
        ({"empty": {"a": 1}}, "args.order.empty has a"),
    ],
)
def test_a_name_that_the_class_would_ignore_is_a_fault(fields: dict[str, Any], fault: str) -> None:
    assert fault in TOOL.find_argument_fault({"order": fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"counts": {"a": 9}, "lists": {"a": [9]}, "by_name": {"k": {"qty": 9, "on": True}}},
        {"pair": [1, "a"], "many": [1, 2], "named": [1, 2], "either": None},
        {"either": "x", "rank": "a", "mixed": [{"qty": 1}], "tree": {"below": [{"size": 1}]}},
        {"pet": {"kind": "dog", "age": 2}, "sizes": {"width": 1}, "point": {"x": 1}},
        {"anything": {"a": {"b": "1"}}, "open": {"size": 1, "colour": "red"}, "empty": {}},
    ],
)
def test_an_edit_that_fits_is_taken(fields: dict[str, Any]) -> None:
    assert TOOL.find_argument_fault({"order": fields}) == ""


OUTSIDE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plain": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "closed": {"properties": {"n": {"type": "integer"}}, "additionalProperties": False},
        "marked": {
            "patternProperties": {"^n_": {"type": "integer"}},
            "additionalProperties": {"type": "string"},
        },
        "foreign": {"patternProperties": {r"^\p{L}": {"type": "integer"}}},
        "only": {"patternProperties": {"^n_": True}, "additionalProperties": False},
        "pair": {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
        "old": {"items": [{"type": "integer"}], "additionalItems": {"type": "string"}},
        "just": {"prefixItems": [True], "items": False},
        "ref": {"$ref": "#/definitions/a~1b"},
        "ref_in": {"$ref": "#/properties/plain", "required": ["n"]},
        "all": {"allOf": [{"$ref": "#/properties/plain"}, {"required": ["n"]}]},
        "one": {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "oneOf": [{"required": ["n"]}, {"required": ["m"]}],
        },
        "loop": {"$ref": "#/properties/loop"},
        "never": False,
    },
    "definitions": {"a/b": {"type": "integer"}},
}


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({"plain": {"n": "1"}}, "args.plain.n is '1'"),
        ({"closed": {"n": "1"}}, "args.closed.n is '1'"),
        ({"closed": {"m": 1}}, "args.closed has m"),
        ({"marked": {"n_a": "1"}}, "args.marked.n_a is '1'"),
        ({"marked": {"b": 1}}, "args.marked.b is 1"),
        ({"only": {"m": 1}}, "args.only has m"),
        ({"pair": ["1"]}, "args.pair[0] is '1'"),
        ({"pair": [1, 2]}, "args.pair[1] is 2"),
        ({"old": ["1"]}, "args.old[0] is '1'"),
        ({"old": [1, 2]}, "args.old[1] is 2"),
        ({"just": [1, 2]}, "args.just[1] may not be given"),
        ({"ref": "1"}, "args.ref is '1'"),
        ({"ref_in": {"n": "1"}}, "args.ref_in.n is '1'"),
        ({"ref_in": {}}, "args.ref_in lacks n"),
        ({"all": {"n": "1"}}, "args.all.n is '1'"),
        ({"all": {}}, "args.all lacks n"),
        ({"one": {"n": "1"}}, "args.one.n is '1'"),
        ({"one": {}}, "args.one lacks n"),
        ({"loop": 1}, "nested too deeply"),
        ({"never": 1}, "args.never may not be given"),
    ],
)
def test_a_schema_from_outside_is_checked_in_all_its_parts(
    args: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValueError, match="args") as found:
        check_schema(args, OUTSIDE, "args")
    assert fault in str(found.value)


@pytest.mark.parametrize(
    "args",
    [
        {"plain": {"n": 1, "m": "1"}, "more": 1, "closed": {"n": 1}},
        {"marked": {"n_a": 1, "b": "x"}, "only": {"n_a": "1"}, "foreign": {"a": 1}},
        {"pair": [1, "a"], "old": [1, "a"], "just": [1]},
        {"ref": 1, "ref_in": {"n": 1, "m": 2}, "all": {"n": 1, "m": 2}, "one": {"m": "1"}},
    ],
)
def test_a_schema_from_outside_allows_names_that_it_does_not_forbid(args: dict[str, Any]) -> None:
    check_schema(args, OUTSIDE, "args")


def test_a_persons_answer_is_still_converted() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert fit_schema({"a": "1"}, schema, "the answer") == {"a": 1}
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}
    assert fit_schema('["1", "2"]', pair, "the answer") == [1, "2"]


def test_a_schema_tool_is_as_strict_as_what_reads_its_arguments() -> None:
    def run(**given: Any) -> str:
        """Run."""
        return "ran"

    of_class = SchemaTool(run, name="t", description="", schema=Order)
    nested = {"by_name": {"k": {"quantity": 9}}}
    assert "args.by_name.k has quantity" in of_class.find_argument_fault(nested)
    of_json = SchemaTool(run, name="t", description="", schema=OUTSIDE)
    assert of_json.find_argument_fault({"plain": {"m": 1}}) == ""


def test_an_agents_input_schema_is_that_of_a_class() -> None:
    tool = AgentTool(Agent(name="buyer", description="Buys.", input_schema=Order))
    assert "args has counted" in tool.find_argument_fault({"counted": {}})
    assert tool.find_argument_fault({"counts": {"a": 1}}) == ""


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("anyOf", "text", "integer"),
        pytest.param("allOf", 1, "parts", marks=pytest.mark.long),
        pytest.param("oneOf", "text", "integer", marks=pytest.mark.long),
    ],
)
def test_a_schema_whose_references_multiply_ends(kind: str, value: Any, said: str) -> None:
    twice = {f"d{n}": {kind: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"$defs": {**twice, "d40": {"type": "integer"}}, "$ref": "#/$defs/d0"}
    with pytest.raises(ValueError, match=said) as raised:
        check_schema(value, schema, "it")
    assert len(str(raised.value)) < 3_000

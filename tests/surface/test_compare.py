"""The comparison sees each kind of difference, so that its silence means something."""

from __future__ import annotations

import typing
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.surface import compare, record, shown

DIFFERENCES = [
    (
        {"agents.run_config": {"RunConfig": {"fields": {"max_llm_calls": ["int | str", "500"]}}}},
        "max_llm_calls",
        "ours int, theirs int | str",
    ),
    ({"agents.nowhere": {}}, "agents.nowhere", "no such module"),
    ({"agents": {"Nobody": "value"}}, "agents:Nobody", "no such name"),
    ({"events.event": {"Event": ["def"]}}, "events.event:Event(self)", None),
    (
        {"agents.run_config": {"RunConfig": {"fields": {"nope": ["Any", "None"]}}}},
        "RunConfig.nope",
        "field",
    ),
    (
        {"agents.run_config": {"RunConfig": {"fields": {"max_llm_calls": ["int", "7"]}}}},
        "max_llm_calls",
        "ours 500, theirs 7",
    ),
    (
        {"agents.run_config": {"StreamingMode": {"enum": {"ODD": "'odd'"}}}},
        "StreamingMode.ODD",
        "ours None",
    ),
    ({"events.event": {"Event": {"bases": ["Stranger"]}}}, "Event", "is no Stranger"),
    ({"events.event": {"Event": {"members": {"fly": "property"}}}}, "Event.fly", "no such member"),
    (
        {"runners": {"Runner": {"members": {"run_async": ["async", "self"]}}}},
        "run_async",
        "ours stream, theirs async",
    ),
    (
        {"runners": {"Runner": {"members": {"close": ["async", "self", "*", "hard=True"]}}}},
        "close(hard)",
        "no such parameter",
    ),
    (
        {"runners": {"Runner": {"members": {"run_async": ["stream", "self", "user_id"]}}}},
        "run_async(user_id)",
        "by keyword only",
    ),
    (
        {"tools.exit_loop_tool": {"exit_loop": ["def", "tool_context=None"]}},
        "exit_loop(tool_context)",
        "ours required, theirs None",
    ),
    (
        {"tools.exit_loop_tool": {"exit_loop": ["def"]}},
        "exit_loop(tool_context)",
        "ours alone, and required",
    ),
    (
        {"tools.tool_context": {"ToolContext": "is agents.readonly_context:ReadonlyContext"}},
        "ToolContext",
        "is not the ReadonlyContext",
    ),
    ({"flows.llm_flows.functions": {"AF_FUNCTION_CALL_ID_PREFIX": "= 'x'"}}, "PREFIX", "ours"),
]


@pytest.mark.parametrize(("modules", "where", "what"), DIFFERENCES)
def test_each_kind_of_difference_is_found(
    modules: dict[str, Any], where: str, what: str | None
) -> None:
    found = list(compare.compare({"modules": modules, "types": {}}))
    if what is None:
        assert found == []  # a class that takes anything by keyword
        return
    assert [f for f in found if f.where.endswith(where) and what in f.what], found


def test_a_missing_type_and_method_are_found() -> None:
    found = compare.compare({"modules": {}, "types": {"Nope": {}, "Part": {"fly": "property"}}})
    assert {f.where for f in found} == {"types:Nope", "types:Part.fly"}


def sample(a: int, /, b: str = "x", *more: int, c: object = None, **rest: object) -> None: ...


def test_parameters_are_written_as_python_has_them() -> None:
    assert record.parameters(sample) == ["a", "/", "b='x'", "*more", "c=None", "**rest"]
    assert shown.show("two words") == "<text>"
    assert shown.show({"b": 1}) == "dict('b')"


def test_check_says_when_the_record_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "surface.json"
    monkeypatch.setattr(record, "TARGET", target)
    monkeypatch.setattr(record, "record", lambda: {"modules": {"a": None}, "types": {}})
    monkeypatch.setattr(record, "version", lambda name: "2.3.0")
    assert record.main(["--check"]) == 1
    assert record.main([]) == 0
    assert record.main(["--check"]) == 0
    monkeypatch.setattr(record, "version", lambda name: "9.9")
    assert record.main([]) == 1


NEEDY = """
import nowhere_at_all
LIMIT: int = 3
class Kind(enum.Enum):
    ONE = 1
class A(nowhere_at_all.B):
    a: Optional[int | List[str]] = Field(default=None)
    b: "nowhere.C" = field(default_factory=list)
    _c: int = 1
    def __init__(self, x, /, y=1, *, z=LIMIT, **more): ...
    async def live(self): yield 1
    @classmethod
    async def made(cls): ...
    @property
    def shown(self): ...
    def _hidden(self): ...
if LIMIT:
    def work(*all): ...
def _b(): ...
"""


def test_a_module_that_needs_more_is_read_from_its_source(tmp_path: Path) -> None:
    path = tmp_path / "needy.py"
    path.write_text(NEEDY)
    assert record.describe_module("nowhere_at_all", "needy", path) == {
        "A": {
            "bases": ["B"],
            "fields": {"a": ["int | list[str] | None", "None"], "b": ["C", "<made>"]},
            "members": {
                "__init__": ["def", "self", "x", "/", "y=1", "*", "z=?", "**more"],
                "live": ["stream", "self"],
                "made": ["classmethod", "async", "cls"],
                "shown": "property",
            },
        },
        "Kind": {"enum": {"ONE": "1"}},
        "LIMIT": "= 3",
        "work": ["def", "*all"],
    }
    assert record.read(SimpleNamespace(), "x") == "unread"  # type: ignore[arg-type]


def test_types_are_written_alike_however_they_are_given() -> None:
    given: list[Any] = [int | None, "Optional[int]", "None | int", "types.int|None"]
    assert {shown.show_type(one) for one in given} == {"int | None"}
    assert shown.show_type(typing.Annotated[list[int | str], "x"]) == "list[int | str]"
    assert shown.show_type(Callable[[int], str] | None) == "Callable | None"
    assert shown.show_type("typing.Literal['b', 'a']") == "Literal['a', 'b']"
    assert shown.show_type(typing.Literal["b", "a"]) == "Literal['a', 'b']"
    assert shown.members("dict[str, int | None] | None") == {"dict[str, int | None]", "None"}

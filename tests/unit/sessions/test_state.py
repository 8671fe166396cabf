"""State: committed values with the changes of one event on top."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato.errors import StateSchemaError
from ostinato.sessions.state import KeyMarks, State, write_key


@pytest.mark.spec(182)
def test_prefixes() -> None:
    assert (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX) == ("app:", "user:", "temp:")


@pytest.mark.spec(183, 187)
def test_writes_show_at_once_and_are_recorded() -> None:
    value: dict[str, Any] = {"a": 1}
    delta: dict[str, Any] = {}
    state = State(value, delta)
    assert not state.has_delta()
    state["b"] = 2
    state.update({"c": 3, "temp:d": 4})
    assert state.has_delta()
    assert delta == {"b": 2, "c": 3, "temp:d": 4}
    assert value == {"a": 1, "b": 2, "c": 3, "temp:d": 4}
    assert state.to_dict() == value
    assert State(value, {})["b"] == 2


@pytest.mark.spec(183)
def test_reads() -> None:
    state = State({"a": 1}, {"b": 2})
    assert (state["a"], state["b"], state.get("c"), state.get("c", 3)) == (1, 2, None, 3)
    assert "a" in state and "b" in state and "c" not in state
    assert state.keys() == list(state) == ["a", "b"]
    assert len(state) == 2
    assert repr(state) == "State({'a': 1, 'b': 2})"
    with pytest.raises(KeyError):
        state["c"]


@pytest.mark.spec(183)
def test_setdefault() -> None:
    delta: dict[str, Any] = {}
    state = State({"a": 1}, delta)
    assert state.setdefault("a", 5) == 1
    assert delta == {}
    assert state.setdefault("b", 5) == 5
    assert delta == {"b": 5}


@pytest.mark.spec(185)
def test_none_removes_a_key() -> None:
    value: dict[str, Any] = {"a": 1, "deep": {"inner": None}}
    delta: dict[str, Any] = {}
    marks = KeyMarks()
    state = State(value, delta, marks=marks)
    state["a"] = None
    for view in (state, State(value, {}, marks=marks)):
        assert view["a"] is None
        assert view.get("a", 7) == 7
        assert "a" not in view
        assert view.to_dict() == {"deep": {"inner": None}}
    assert delta == {"a": None}
    assert value == {"deep": {"inner": None}}
    state["a"] = 2
    assert marks.tombstones == set()
    assert State(value, {}, marks=marks)["a"] == 2


def test_write_key() -> None:
    value: dict[str, Any] = {}
    tombstones: set[str] = set()
    write_key(value, tombstones, "a", None)
    assert (value, tombstones) == ({}, {"a"})
    write_key(value, tombstones, "a", 0)
    assert (value, tombstones) == ({"a": 0}, set())


class Schema(BaseModel):
    count: int
    name: str | None = None


@pytest.mark.spec(186)
def test_a_schema_holds_writes() -> None:
    delta: dict[str, Any] = {}
    state = State({}, delta, schema=Schema)
    state["count"] = 1
    state["name"] = None
    state["user:anything"] = ["what", "ever"]
    with pytest.raises(StateSchemaError, match="'color' is not declared in state schema 'Schema'"):
        state["color"] = "red"
    with pytest.raises(StateSchemaError, match=r"'count' does not match type .*int.* in 'Schema'"):
        state.update({"count": "many"})
    with pytest.raises(TypeError):
        state.setdefault("color", 1)
    assert set(delta) == {"count", "name", "user:anything"}
    assert state["count"] == 1

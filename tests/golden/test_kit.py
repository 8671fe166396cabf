"""The harness itself: edits of deviations, stable ids, sentences cut to their words."""

import json
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.append(str(HERE.parent))  # behind the SDKs, whose names some test folders have

from golden.deviations import Deviation, Edit  # noqa: E402
from golden.normalise import finish, to_text  # noqa: E402


@pytest.mark.parametrize(
    ("edit", "path", "value", "after"),
    [
        ("drop", "a.0", None, {"a": [{"node": 2, "x": 2}], "node": 1}),
        ("put", "a.1.x", 3, {"a": [{"node": 1, "x": 1}, {"node": 2, "x": 3}], "node": 1}),
        ("insert", "a.1", 9, {"a": [{"node": 1, "x": 1}, 9, {"node": 2, "x": 2}], "node": 1}),
        ("drop", "**.node", None, {"a": [{"x": 1}, {"x": 2}]}),
    ],
)
def test_deviation_edits(edit: Edit, path: str, value: Any, after: Any) -> None:
    trace = {"a": [{"node": 1, "x": 1}, {"node": 2, "x": 2}], "node": 1}
    Deviation("some", edit, path, "why", value).apply(trace)
    assert trace == after


def test_deviation_of_nothing_is_an_error() -> None:
    with pytest.raises(KeyError):
        Deviation("some", "drop", "turns.0", "why").apply({"sessions": []})


def _record(call: str, invocation: str) -> dict[str, Any]:
    return {
        "author": "root",
        "inv": invocation,
        "content": ["user", {"response": "t", "id": call, "value": {"error": "tell city " * 9}}],
        "long_running_tool_ids": [call],
        "@": [1.0, call],
    }


def _finished(words: tuple[str, ...]) -> dict[str, Any]:
    call, invocation = f"adk-{uuid.uuid4()}", f"e-{uuid.uuid4()}"
    event, stored = _record(call, invocation), _record(call, invocation)
    return finish([{"events": [event]}], {}, [], [{"state": {}, "log": [stored]}], words)


def test_traces_do_not_depend_on_ids() -> None:
    first, again = _finished(("city", "day")), _finished(("city", "day"))
    assert first == again
    event = first["turns"][0]["events"][0]
    assert (event["inv"], event["long_running_tool_ids"]) == ("inv-1", ["adk-1"])
    assert event["content"][1]["value"] == {"error": "(a sentence) city"}
    assert first["sessions"][0]["log"] == ["yielded"]


def test_text_keeps_the_value() -> None:
    value = {"a": [1, {"b": "x" * 200}], "c": {}}
    assert json.loads(to_text(value)) == value

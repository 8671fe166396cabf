"""Traces of events: the lines, the assertion with its patterns, and the two short questions."""

import re

import pytest

from ostinato import types
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions
from ostinato.testing import assert_trace, call, final_text, thought, tool_calls, trace


def said(author: str, *parts: types.Part | str, **fields: object) -> Event:
    content = types.Content(
        role="model", parts=[p if isinstance(p, types.Part) else types.Part(text=p) for p in parts]
    )
    return Event(author=author, content=content, **fields)  # type: ignore[arg-type]


CALL = types.Part(function_call=call("weather", city="Rome"))
RESULT = types.Part.from_function_response(name="weather", response={"sky": "clear"})
EVENTS = [
    said("user", "Weather?"),
    said("root", "Let ", partial=True),
    said("root", thought("hm"), CALL),
    said("root", RESULT, actions=EventActions(state_delta={"a": 1})),
    said("root", "It is clear."),
]
LINES = [
    "user: Weather?",
    "root: [thought] hm",
    "root: weather(city='Rome')",
    "root: weather -> {'sky': 'clear'}",
    "root: [state_delta {'a': 1}]",
    "root: It is clear.",
]


def test_a_line_for_each_thing() -> None:
    assert trace(EVENTS) == LINES
    assert trace(EVENTS, partial=True)[1] == "root~ Let "


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            Event(author="a", actions=EventActions(transfer_to_agent="b")),
            "a: [transfer to b]",
        ),
        (Event(author="a", actions=EventActions(end_of_agent=True)), "a: [end_of_agent]"),
        (Event(author="a", error_code="SAFETY", error_message="no"), "a: [error SAFETY: no]"),
        (
            said("a", types.Part(executable_code=types.ExecutableCode(code="print(1)"))),
            "a: [code] print(1)",
        ),
        (
            said(
                "a",
                types.Part(
                    code_execution_result=types.CodeExecutionResult(
                        outcome=types.Outcome.OUTCOME_OK, output="1"
                    )
                ),
            ),
            "a: [OUTCOME_OK] 1",
        ),
        (
            said("a", types.Part(inline_data=types.Blob(data=b"123", mime_type="image/png"))),
            "a: [image/png, 3 bytes]",
        ),
    ],
)
def test_other_things(event: Event, line: str) -> None:
    assert trace([event]) == [line]


def test_equal_traces_pass() -> None:
    assert_trace(EVENTS, LINES)
    assert_trace(EVENTS, [..., "root: It is clear."])
    assert_trace(EVENTS, ["user: Weather?", ...])
    assert_trace(EVENTS, [..., re.compile(r"root: weather\(.*\)"), ...])
    assert_trace([], [...])


@pytest.mark.parametrize(
    "expected",
    [
        LINES[:-1],
        [*LINES, "root: more"],
        [..., "root: It is cloudy."],
        [re.compile("user")],
        [..., "root: It is clear.", "user: Weather?"],
        [],
    ],
)
def test_other_traces_fail(expected: list[object]) -> None:
    with pytest.raises(AssertionError, match="the trace differs"):
        assert_trace(EVENTS, expected)  # type: ignore[arg-type]


def test_the_difference_is_shown_by_lines() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_trace(EVENTS, ["user: Weather?", ..., re.compile("x"), "root: It is cloudy."])
    lines = str(caught.value).splitlines()
    assert "  user: Weather?" in lines
    assert "- ..." in lines
    assert "- re: x" in lines
    assert "- root: It is cloudy." in lines
    assert "+ root: It is clear." in lines


def test_final_text_and_calls() -> None:
    assert final_text(EVENTS) == "It is clear."
    assert final_text(EVENTS[:1]) == "Weather?"
    assert final_text([]) == ""
    assert final_text([said("a", thought("hm"), "x"), Event(author="a")]) == "x"
    assert tool_calls(EVENTS) == [("weather", {"city": "Rome"})]

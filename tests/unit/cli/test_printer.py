"""What a person sees of events that the examples do not show, and how long things are shortened."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.cli.call_view import call_lines
from ostinato.cli.interactive import event_line
from ostinato.cli.printer import Printer
from ostinato.cli.question_view import question_lines
from ostinato.cli.screen import Screen
from ostinato.cli.shorten import block, call_text, cut, result_text, safe
from ostinato.cli.shown import Tally
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions
from ostinato.events.pending import pending_calls
from ostinato.events.request_input import REQUEST_INPUT, TOOL_QUESTION
from ostinato.events.tool_origin import TOOL_ORIGINS
from ostinato.events.tool_progress import ToolProgress, make_progress_event
from ostinato.hosting.stand_in import stand_in_line


def said(author: str = "a", *parts: dict[str, Any], **fields: Any) -> Event:
    return Event.model_validate(
        {"author": author, "content": {"role": "model", "parts": list(parts)}, **fields}
    )


def text(words: str, **fields: Any) -> Event:
    return said("a", {"text": words}, **fields)


def shown(*events: Event, verbose: bool = False) -> str:
    file = io.StringIO()
    printer = Printer(Screen(file), verbose)
    for event in events:
        printer.event(event)
    printer.end_turn()
    return file.getvalue()


def test_streamed_text_is_shown_once() -> None:
    assert shown(text("One ", partial=True), text("two", partial=True), text("One two")) == (
        "a\n  One two\n"
    )


def test_streamed_text_that_goes_on_in_the_whole_response() -> None:
    assert shown(text("One ", partial=True), text("One two")) == "a\n  One two\n"


def test_text_that_a_hook_changed_is_shown_as_it_counts() -> None:
    assert shown(text("One", partial=True), text("Two")) == "a\n  One\n  Two\n"


def test_streams_of_agents_side_by_side_do_not_mix() -> None:
    assert shown(
        text("One ", partial=True, branch="p.a"),
        text("Eins", partial=True, branch="p.b"),
        text("One two", branch="p.a"),
    ) == ("a\n  One two\n")


def test_thoughts_and_text_are_apart() -> None:
    assert shown(said("a", {"text": "Hm.", "thought": True}, {"text": "Yes."})) == (
        "a\n  Hm.\n\n  Yes.\n"
    )


def test_code_and_its_output() -> None:
    code = {"executableCode": {"code": "print(1)", "language": "PYTHON"}}
    output = {"codeExecutionResult": {"output": "Code execution result:\n1\n\n"}}
    assert shown(said("a", code), said("a", output)) == (
        "a\n  ● runs code\n    │ print(1)\n    │ 1\n"
    )
    streamed = text("```python\nprint(1)\n```", partial=True)
    assert shown(streamed, said("a", code)).count("print(1)") == 1


def test_effects_of_an_event() -> None:
    event = text(
        "Done.",
        actions=EventActions(
            state_delta={"same": "Done.", "gone": None, "n": [1], "_code_executor_x": 1},
            artifact_delta={"a.txt": 2},
            escalate=True,
            agent_state={"step": 1},
        ),
    )
    assert shown(event).splitlines() == [
        "a",
        "  Done.",
        "    state same = this text",
        "    state gone is removed",
        "    state n = [1]",
        "    saved a.txt (version 2)",
        "    ends the loop",
    ]
    assert "_code_executor_x" in shown(event, verbose=True)
    assert 'checkpoint {"step": 1}' in shown(event, verbose=True)


def test_parallel_calls_and_their_results() -> None:
    calls = said(
        "a",
        {"functionCall": {"id": "1", "name": "f", "args": {"x": 1}}},
        {"functionCall": {"id": "2", "name": "g"}},
    )
    results = said(
        "a",
        {"functionResponse": {"id": "1", "name": "f", "response": {"result": 1}}},
        {"functionResponse": {"id": "2", "name": "g", "response": {"result": None}}},
    )
    assert shown(calls, results).splitlines() == [
        "a",
        "  ● f(x=1)",
        "  ● g()",
        "    └ f: 1",
    ]


def test_a_result_apart_from_its_call_repeats_the_name() -> None:
    call = said("a", {"functionCall": {"id": "1", "name": "f"}})
    result = said("a", {"functionResponse": {"id": "1", "name": "f", "response": {"x": 1}}})
    assert shown(call, result).endswith("  ● f()\n    └ x: 1\n")
    assert shown(call, text("Meanwhile."), result).endswith("  ● f\n    └ x: 1\n")
    assert "  ● f\n    └ x: 1" in shown(said("b", {"text": "Else"}), result)


def test_errors_files_and_what_the_user_said() -> None:
    out = shown(
        said("user", {"text": "Two\nlines"}, {"inlineData": {"data": "YWJj", "mimeType": "x/y"}}),
        Event(author="a", error_code="SAFETY", error_message="not that"),
        said("a", {"fileData": {"fileUri": "gs://b/c"}}),
    )
    assert "Two\n  lines\n" in out
    assert "[x/y, 3 bytes]" in out
    assert "  SAFETY: not that\n" in out
    assert "  [gs://b/c]\n" in out


def test_long_values_are_shortened_unless_verbose() -> None:
    long = "x" * 5000
    event = said("a", {"functionCall": {"id": "1", "name": "f", "args": {"text": long}}})
    assert len(shown(event)) < 200
    assert long in shown(event, verbose=True)


def test_control_characters_do_not_reach_the_terminal() -> None:
    out = shown(
        text("a\x1b[31mb\x07\u202ec"),
        said("a", {"functionCall": {"id": "1", "name": "f\x1b", "args": {"x": "\x1b]0;t\x07"}}}),
    )
    assert not set(out) & {"\x1b", "\x07", "\u202e"}
    assert safe("a\r\nb\tc\ud800") == "a\nb\tc\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("mark", [*"\u061c\u200b\u200e\u200f\u202e\u2060\u3164\ufeff\x1b"])
@pytest.mark.parametrize("streamed", [False, True])
def test_hidden_characters_of_an_answer_do_not_reach_the_terminal(
    mark: str, streamed: bool
) -> None:
    answer = f"pay{mark}ment"
    pieces = [text(one, partial=True) for one in ("pay", mark, "ment")] if streamed else []
    assert "pay\N{REPLACEMENT CHARACTER}ment" in shown(*pieces, text(answer))


def test_characters_that_join_others_reach_the_terminal() -> None:
    family = (
        "\U0001f469\u200d\U0001f467 \u2764\ufe0f \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    )
    assert family in shown(text(family))


def test_event_lines() -> None:
    ask = {"functionCall": {"id": "2", "name": "adk_request_confirmation"}}
    answer = {
        "functionResponse": {
            "id": "2",
            "name": "adk_request_confirmation",
            "response": {"confirmed": True},
        }
    }
    assert event_line(said("a", ask)) == "asks for approval"
    assert event_line(said("user", answer)) == "approved"
    assert event_line(text("a\nb", actions=EventActions(state_delta={"k": 1}))) == "a b; sets k"
    assert event_line(Event(author="a", actions=EventActions(end_of_agent=True))) == "ends"
    assert event_line(Event(author="a")) == "no content"


def test_what_waits_ends_with_an_answer_or_a_rewind() -> None:
    call = said(
        "a",
        {"functionCall": {"id": "1", "name": "f", "args": {"x": 1}}},
        long_running_tool_ids={"1"},
        invocation_id="e-1",
    )
    first = said(
        "a", {"functionResponse": {"id": "1", "name": "f", "response": {"status": "pending"}}}
    )
    assert [one.kind for one in pending_calls([call, first])] == ["result"]
    answer = first.model_copy(update={"author": "user"})
    assert pending_calls([call, first, answer]) == []
    start = Event(author="user", invocation_id="e-0")
    rewind = Event(author="user", actions=EventActions(rewind_before_invocation_id="e-0"))
    assert pending_calls([start, call, first, rewind]) == []


def test_the_tally_counts_what_a_turn_took() -> None:
    tally = Tally()
    usage = {"promptTokenCount": 1200, "candidatesTokenCount": 3, "thoughtsTokenCount": 4}
    tally.count(text("x", partial=True, usage_metadata=usage))
    tally.count(text("x", usage_metadata=usage))
    tally.count(text("x"))
    tally.count(said("a", {"functionCall": {"name": "adk_request_confirmation"}}))
    tally.count(
        Event.model_validate(
            {"author": "a", "content": {"parts": [{"functionResponse": {"id": "1", "name": "f"}}]}}
        )
    )
    assert str(tally).startswith("2 model calls · 1 tool call · 1,200 tokens in, 7 out · ")


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (None, ""),
        ({}, ""),
        ({"result": None}, ""),
        ({"result": "yes"}, "yes"),
        ({"result": [1]}, "[1]"),
        ({"report": "fine"}, "report: fine"),
        ({"a": 1, "b": "c"}, '{"a": 1, "b": "c"}'),
    ],
)
def test_results_in_words(response: dict[str, Any] | None, words: str) -> None:
    assert result_text(response) == words


def test_shortening() -> None:
    assert call_text("f", {"a": "x", "b": None}) == 'f(a="x", b=null)'
    assert cut("abcdef", 4) == "abc…"
    assert cut("abc", 3) == "abc"
    assert block("one two three\nfour", 8, 2) == [
        "one two",
        "three",
        "… 1 more line; --verbose shows all",
    ]
    assert block("", 8, 2) == [""]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_words_are_wrapped_and_code_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    file = _Terminal()
    screen = Screen(file)
    for piece in (
        "One two three fo",
        "ur five six\n```py\nx = 'one two ",
        "three four'\n```\na b c",
    ):
        screen.text(piece, indent=2)
    screen.text(" and much more of it", indent=2)
    screen.end_text()
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "  One two three four",
        "  five six",
        "  ```py",
        "  x = 'one two three four'",
        "  ```",
        "  a b c and much more of",
        "  it",
    ]


def test_the_stand_in_line_for_several_reasons() -> None:
    line = stand_in_line({"gemini-x": "no adapter in this version", "zzz": "no model of that name"})
    assert line.startswith(
        "gemini-x and zzz are not available (no adapter in this version; no model of that name): "
    )


def test_outputs_of_nodes_are_shown_and_that_of_the_workflow_in_full() -> None:
    def gave(output: Any, *paths: str) -> Event:
        info = {"path": paths[0], "output_for": list(paths)}
        return Event.model_validate({"author": "flow", "output": output, "node_info": info})

    lines = shown(
        gave({"k": "x" * 300}, "flow@1/a@1"), gave("y" * 300, "flow@1/b@1", "flow@1")
    ).splitlines()
    assert lines[0] == "flow" and lines[1].startswith('    a = {"k": "xxx')
    assert len(lines[1]) < 300 and lines[2] == "    b = " + "y" * 300


def calling(source: str, **origin: str) -> Event:
    """Return an event with a call of an MCP server's tool, which waits for approval."""
    drop: dict[str, Any] = {"id": "c1", "name": "drop", "args": {"table": "users"}}
    asked = {"originalFunctionCall": drop, "toolConfirmation": {"hint": "Sure?"}}
    origin = {"kind": "mcp", "source": source, "policy": "at_most_once", **origin}
    ask = {"id": "c2", "name": "adk_request_confirmation", "args": asked}
    return said(
        "a",
        {"function_call": drop},
        {"function_call": ask},
        long_running_tool_ids={"c2"},
        custom_metadata={TOOL_ORIGINS: {"c1": origin}},
    )


def test_call_says_which_server_its_tool_is_from() -> None:
    assert '● drop(table="users")  MCP server files\n' in shown(calling("files"))
    assert "\x1b" not in shown(calling("files\x1b[2J"))


def test_approval_says_where_the_tool_comes_from() -> None:
    (waiting,) = pending_calls([calling("files", operation="drop_table")])
    lines, _ = call_lines(waiting, 100)
    assert lines[1] == (
        ("  From ", "dim"),
        ("MCP server files, drop_table", "yellow"),
        (" (runs at most once)", "dim"),
    )
    (waiting,) = pending_calls([calling("x" * 500 + "\u202e")])
    (_, (text, _), _) = call_lines(waiting, 80)[0][1]
    assert len(text) < 80 and "\u202e" not in text


def test_a_question_says_which_tool_of_which_server_asks() -> None:
    event = calling("files", operation="drop_table")
    call: Any = event.get_function_calls()[1]
    call.name, call.args = REQUEST_INPUT, {"functionCallId": "c1", "message": "Really?"}
    (waiting,) = pending_calls([event])
    origin, question = question_lines(waiting, 100)
    assert origin[1] == ("MCP server files, drop_table", "yellow")
    assert question[1] == "Really?"


def test_a_call_whose_tool_asks_waits_for_an_answer() -> None:
    for payload, wanted in (({TOOL_QUESTION: {}}, "an answer"), (None, "approval")):
        result: dict[str, Any] = {"id": "c1", "name": "drop", "response": {"error": "asked"}}
        asked = {"c1": ToolConfirmation(payload=payload)}
        actions = EventActions(requested_tool_confirmations=asked)
        assert f"waits for {wanted}" in shown(
            said("a", {"function_response": result}, actions=actions)
        )


def test_progress_of_a_call_is_a_line_for_each_tenth_and_message() -> None:
    def progress(done: float, total: float | None, message: str = "") -> Event:
        one = ToolProgress("c1", done, total, message)
        return make_progress_event(one, invocation_id="i", author="a", branch=None)

    events = [progress(n / 10, 3) for n in range(40)]
    assert shown(*events).count("%") == 11 and "100 %" in shown(*events)
    hostile = [progress(1e308, 1e-308, "\x1b[2J"), progress(1, -1), progress(float("nan"), None)]
    assert "\x1b" not in shown(*hostile)
    many = [progress(0, None, f"step {n}") for n in range(500)]
    assert shown(*many).count("step") == 20
    assert shown(*many, verbose=True).count("step") == 500

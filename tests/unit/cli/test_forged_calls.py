"""What a person sees right above the prompt is the call that will run, whatever its texts hold."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pyte
import pytest

from ostinato import types
from ostinato.cli.call_view import call_lines
from ostinato.cli.escape import label
from ostinato.cli.printer import Printer
from ostinato.cli.screen import Screen as CliScreen
from ostinato.events.event import Event
from ostinato.events.pending import Pending
from tests.unit.cli.hostile import calls
from tests.unit.cli.terminal import Screen, at_a_pty, plain

pytestmark = pytest.mark.long

_WIDTH, _HEIGHT = 80, 40
_INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
_BLANK = "\u00a0\u3000\u3164\u115f\u2800\uffa0\ufe0f\u034f\u17b4\u180b\U000e0100"
_PROMPT = re.compile(r"  Run it\? y / n / edit( / all)?: *")


def _squeezed(text: str) -> str:
    """Return a text without spaces, which a screen pads lines with."""
    return text.replace(" ", "")


def _in_ascii(text: str) -> str:
    """Return a JSON text, or its beginning, with every character beyond ASCII as an escape."""
    escaped = (one if " " < one < "\x7f" else f"{json.dumps(one)[1:-1]}" for one in text)
    return "".join(escaped).replace("\x7f", "\\u007f")


def _block(rows: list[str], prompt: int) -> list[str]:
    """Return the rows of the call above the prompt."""
    start = max(n for n in range(prompt) if rows[n].startswith("  Call "))
    return rows[start:prompt]


def _arguments(rows: list[str]) -> list[list[str]]:
    """Return the rows of each argument: a row that has no key goes on with the value before it."""
    found: list[list[str]] = []
    for row in rows:
        if row.startswith("     "):
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _check_argument(rows: list[str], key: str, value: Any) -> None:
    text = _squeezed("".join(rows))
    name = _squeezed(label(key))
    if not text.startswith(name):
        beginning, cut, rest = text.partition("…(")
        assert cut, text
        assert name.startswith(beginning)
        length, _, text = rest.partition("characters)")
        assert int(length.replace(",", "")) == len(label(key))
    else:
        assert name == key or json.loads(label(key)) == key
        text = text[len(name) :]
    shown, cut, _ = text.partition("…")
    whole = _in_ascii(_squeezed(json.dumps(value, ensure_ascii=False)))
    assert (whole.startswith if cut else whole.__eq__)(_in_ascii(shown)), (whole[:300], shown)
    assert cut or len(rows) <= 4


def _check(one: Pending, display: list[str]) -> None:
    """Check that the rows above the prompt show a call as it is."""
    prompt = max(n for n, row in enumerate(display) if row.strip())
    assert _PROMPT.fullmatch(display[prompt]), display[prompt]
    rows = [row.rstrip() for row in _block(display, prompt)]
    for character in "".join(rows):
        assert unicodedata.category(character) not in _INVISIBLE, hex(ord(character))
        assert character not in _BLANK, hex(ord(character))
    count = f"{len(one.args)} argument{'' if len(one.args) == 1 else 's'}"
    assert re.search(rf", {count}, [\d,]+ characters of JSON$", rows[0]), rows[0]
    told = _squeezed(rows[0].removeprefix("  Call "))
    name = _squeezed(label(one.tool))
    assert told.startswith(name) or name.startswith(told.partition("…(")[0]), told
    shown = _arguments([row for row in rows[1:] if not row.startswith("    …")])
    assert len(shown) == min(len(one.args), 12)
    for found, (key, value) in zip(shown, one.args.items(), strict=False):
        _check_argument(found, key, value)
    hidden = len(one.args) - len(shown)
    told = [row for row in rows if row.startswith(f"    … {hidden} more arguments: ")]
    assert len(told) == (hidden > 0)


def test_the_call_above_the_prompt_is_the_one_that_runs(monkeypatch: Any) -> None:
    screen = pyte.Screen(_WIDTH, _HEIGHT)
    stream = pyte.Stream(screen)
    program = [str(Path(__file__).with_name("hostile.py"))]
    with at_a_pty(program=program, PROMPT_TOOLKIT_NO_CPR="1") as terminal:
        terminal.resize(_HEIGHT, _WIDTH)
        for number, one in enumerate(calls()):
            case = re.compile(rf"^case {number}\. *$")

            def asked(case: re.Pattern[str] = case) -> bool:
                rows = [row for row in screen.display if row.strip()]
                return any(map(case.match, rows)) and bool(_PROMPT.fullmatch(rows[-1]))

            while not asked():
                stream.feed(terminal.read())
            _check(one, screen.display)
            terminal.type("n\r")
        assert terminal.end() == 0


def _pending(**args: Any) -> Pending:
    call = types.FunctionCall(id="c", name="adk_request_confirmation", args={})
    return Pending("approval", call, "pay", "t", args, "", None, "e")


def _rows(one: Pending, *, whole: bool = False) -> list[str]:
    lines, _ = call_lines(one, 80, whole=whole)
    return ["".join(p if isinstance(p, str) else p[0] for p in line) for line in lines]


def test_long_values_and_many_arguments_take_few_rows_and_say_what_is_cut() -> None:
    one = _pending(amount=5, memo="x" * 10_000, **{f"extra{n}": n for n in range(100)})
    rows = _rows(one)
    assert len(rows) <= 15
    assert rows[1].split() == ["amount", "5"]
    assert "more of 10,002" in rows[2]
    assert rows[-2].startswith("    … 90 more arguments: extra10, extra11, ")
    assert rows[-1] == "    … cut short: memo"
    everything = "".join(_rows(one, whole=True))
    assert everything.count("x") >= 10_000
    assert "extra99" in everything


def test_events_of_a_session_show_names_and_arguments_without_hidden_characters(
    monkeypatch: Any,
) -> None:
    file = Screen()
    printer = Printer(CliScreen(file))
    for one in calls()[:40]:
        call = types.FunctionCall(id="c", name=one.tool, args=one.args)
        answer = types.FunctionResponse(id="c", name=one.tool, response={one.tool: 1})
        parts = [types.Part(function_call=call), types.Part(function_response=answer)]
        printer.event(Event(author=one.tool, content=types.Content(role="model", parts=parts)))
    for character in plain(file.getvalue()).replace("\n", ""):
        assert unicodedata.category(character) not in _INVISIBLE, hex(ord(character))

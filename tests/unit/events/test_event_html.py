"""Events and runs in notebooks: every text is escaped, and a long one is cut."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from ostinato import Agent, Event, types
from ostinato.events.event_html import LONGEST
from ostinato.testing import ScriptedModel, call

ATTACK = "<script>alert(1)</script><img src=x onerror='alert(2)'>\"&amp;"


class Elements(HTMLParser):
    """The names of the elements of a text, and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}


def render(event: Any) -> str:
    """Return what a notebook shows."""
    return event._repr_html_()


def make_part(**fields: Any) -> types.Content:
    """Return a content of one part."""
    return types.Content(role="model", parts=[types.Part(**fields)])


@pytest.mark.parametrize(
    "event",
    [
        Event(author=ATTACK),
        Event(author="a", content=make_part(text=ATTACK)),
        Event(author="a", content=make_part(text=ATTACK, thought=True)),
        Event(
            author="a",
            content=make_part(
                function_call=types.FunctionCall(name=ATTACK, args={ATTACK: ATTACK}, id="1")
            ),
        ),
        Event(
            author="a",
            content=make_part(
                function_response=types.FunctionResponse(name=ATTACK, response={"x": ATTACK})
            ),
        ),
        Event(author="a", content=make_part(inline_data=types.Blob(data=b"x", mime_type=ATTACK))),
        Event(author="a", content=make_part(file_data=types.FileData(file_uri=ATTACK))),
        Event(author="a", error_code=ATTACK, error_message=ATTACK),
        Event(author="a", output={"x": ATTACK}),
        Event(author="a", state={"x": ATTACK}),
    ],
)
def test_no_text_becomes_markup(event: Event) -> None:
    shown = Elements(render(event))
    assert set(shown.names) <= {"table", "tr", "td", "b", "i", "br", "code"}
    assert shown.attributes <= {"style"}


def test_hidden_characters_are_visible() -> None:
    shown = render(Event(author="a", content=make_part(text="pay\u202eelpoep\u200b\x1b[2J")))
    assert "pay\\u202eelpoep\\u200b\\u001b[2J" in shown


def test_a_long_text_is_cut() -> None:
    shown = render(Event(author="a", content=make_part(text="x" * 1_000_000)))
    assert len(shown) < LONGEST + 1000
    assert "(1,000,000 characters)" in shown


def test_a_run_shows_its_calls_and_its_usage() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    model = ScriptedModel([call("add", a=1, b=2), "It is 3."])
    shown = render(Agent(name="sums", model=model, tools=[add]).run_sync("1 + 2?"))
    assert "sums: 2 model calls, 1 tool calls" in shown
    assert "→ add(a=1, b=2)" in shown
    assert "It is 3." in shown
    assert Elements(shown).names.count("tr") >= 3


def test_an_event_without_content_is_shown() -> None:
    assert "empty" in render(Event(author="a"))

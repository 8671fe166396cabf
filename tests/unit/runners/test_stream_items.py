"""StreamItems: a run's events as what a client is shown."""

from __future__ import annotations

from typing import Any

from ostinato import types
from ostinato.events.event import Event
from ostinato.execution.stream_items import (
    Answered,
    Called,
    Changed,
    Closed,
    Opened,
    Said,
    Shown,
    StreamItems,
)


def event(*parts: dict[str, Any], **more: Any) -> Event:
    """Return an event of an agent."""
    content = types.Content.model_validate({"role": "model", "parts": list(parts)})
    return Event.model_validate({"invocation_id": "i", "author": "a", "content": content, **more})


def told(pieces: StreamItems, *events: Event) -> list[Any]:
    """Return what is told of events: kinds, texts, and whether they are thoughts."""
    found: list[Any] = []
    for one in events:
        for piece in pieces.of(one):
            match piece:
                case Opened(_, _, thought):
                    found.append(("opened", thought))
                case Said(_, text, thought) | Closed(_, text, thought):
                    found.append((type(piece).__name__.lower(), text, thought))
                case _:
                    found.append(type(piece))
    return found


def test_a_thought_ends_where_the_answer_begins() -> None:
    thought = {"text": "hm", "thought": True}
    pieces = StreamItems()
    assert told(
        pieces,
        event(thought, partial=True),
        event({"text": "yes"}, partial=True),
        event(thought, {"text": "yes!"}),
    ) == [
        ("opened", True),
        ("said", "hm", True),
        ("closed", "hm", True),
        ("opened", False),
        ("said", "yes", False),
        ("said", "!", False),
        ("closed", "yes!", False),
    ]
    assert pieces.end() == []


def test_an_answer_that_a_hook_changed_stays_as_it_was_sent() -> None:
    seen = told(
        StreamItems(), event({"text": "secret"}, partial=True), event({"text": "[removed]"})
    )
    assert seen[-1] == ("closed", "secret", False)


def test_agents_side_by_side_keep_their_messages_apart() -> None:
    pieces = StreamItems()
    seen = told(
        pieces,
        event({"text": "a"}, partial=True, author="a"),
        event({"text": "b"}, partial=True, author="b"),
        event({"text": "aa"}, author="a"),
    )
    assert seen[-1] == ("closed", "aa", False)
    ended: list[Any] = pieces.end()
    assert [(one.text, type(one)) for one in ended] == [("b", Closed)]


def test_calls_results_files_and_state() -> None:
    call = {"functionCall": {"id": "1", "name": "f", "args": {}}}
    asks = {"functionCall": {"id": "2", "name": "adk_request_confirmation", "args": {}}}
    result = {"functionResponse": {"id": "1", "name": "f", "response": {}}}
    file = {"inlineData": {"data": "aGk=", "mimeType": "image/png"}}
    seen = told(StreamItems(), event(call, asks), event(result), event(file))
    assert seen == [Called, Answered, Shown]
    assert told(StreamItems(), event(actions={"state_delta": {"k": 1}})) == [Changed]


def test_how_it_ended() -> None:
    pieces = StreamItems()
    told(pieces, event(error_code="SAFETY", error_message="no"))
    assert pieces.failure == ("SAFETY", "no")
    assert pieces.refused
    told(pieces, event({"text": "x"}, finish_reason="MAX_TOKENS"))
    assert (pieces.failure, pieces.cut, pieces.invocation) == (None, True, "i")

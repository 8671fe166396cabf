"""ModelResponseFilter: which events of a run are responses of models."""

from __future__ import annotations

from ostinato import types
from ostinato.events import Event, EventActions
from ostinato.events.model_responses import ModelResponseFilter


def make_event(*parts: types.Part, role: str = "model", author: str = "a", **more: object) -> Event:
    content = types.Content(role=role, parts=list(parts))
    return Event(author=author, content=content, **more)  # type: ignore[arg-type]


TEXT = types.Part(text="Hello")


def test_only_complete_events_of_models_are_responses() -> None:
    found = ModelResponseFilter()
    assert found.is_response(make_event(TEXT))
    assert not found.is_response(make_event(TEXT, partial=True))
    assert not found.is_response(make_event(TEXT, role="user"))
    assert not found.is_response(Event(author="a"))


def test_a_request_to_a_person_is_no_response() -> None:
    ask = types.FunctionCall(id="1", name="adk_request_confirmation", args={})
    assert not ModelResponseFilter().is_response(make_event(types.Part(function_call=ask)))


def test_the_repeated_output_of_the_same_agent_is_no_response() -> None:
    found = ModelResponseFilter()
    output = Event(author="a", actions=EventActions(set_model_response={"total": 3}))
    assert not found.is_response(output)
    assert found.is_response(make_event(TEXT, author="b"))
    assert not found.is_response(make_event(TEXT))
    assert found.is_response(make_event(TEXT))

"""Structured output while it streams: what the pieces say so far, and the whole at the end."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from ostinato import PartialOutput, types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.events import Event
from ostinato.runners import InMemoryRunner
from ostinato.testing import ScriptedModel, chunks


class Trip(BaseModel):
    city: str
    stops: list[str] = []


def event(text: str, *, partial: bool = True, author: str = "clerk", **fields: Any) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(author=author, content=content, partial=partial or None, **fields)


def test_pieces_say_what_is_there_so_far_and_the_whole_is_validated() -> None:
    output = PartialOutput(Trip)
    assert output.feed(event("")) is None
    assert output.feed(event('{"ci')) == {}
    assert output.feed(event('ty": "Ro')) == {"city": "Ro"}
    assert output.feed(event('me", "stops": ["Pi')) == {"city": "Rome", "stops": ["Pi"]}
    assert output.value is None
    whole = output.feed(event('{"city": "Rome", "stops": ["Pisa"]}', partial=False))
    assert whole == Trip(city="Rome", stops=["Pisa"]) == output.value


@pytest.mark.parametrize(
    "schema", [{"type": "object"}, types.Schema(type=types.Type.OBJECT), dict[str, str]]
)
def test_other_schemas_give_json_values(schema: Any) -> None:
    assert PartialOutput(schema).feed(event('{"a": "b"}', partial=False)) == {"a": "b"}


def test_what_is_no_output_is_passed_over() -> None:
    output = PartialOutput(Trip)
    thought = types.Content(role="model", parts=[types.Part(text="{", thought=True)])
    call = types.Part(function_call=types.FunctionCall(name="look"))
    for other in (
        event("Which city?", partial=False, author="user"),
        Event(author="clerk", content=thought, partial=True),
        Event(author="clerk", content=types.Content(role="model", parts=[call])),
        event("{}", partial=False, custom_metadata={"ostinato:rejected": True}),
        event("cut", partial=False, error_code="MAX_TOKENS"),
        Event(author="clerk"),
        event("not json"),
    ):
        assert output.feed(other) is None


def test_a_restart_and_a_whole_response_begin_anew_and_authors_do_not_mix() -> None:
    output = PartialOutput(Trip)
    output.feed(event('{"city": "Osl'))
    empty = types.Content(role="model", parts=[])
    taken_back = {"restarted": True}
    output.feed(Event(author="clerk", content=empty, partial=True, custom_metadata=taken_back))
    assert output.feed(event('{"city": "R', author="other")) == {"city": "R"}
    assert output.feed(event('{"city": "Ro')) == {"city": "Ro"}
    output.feed(event('{"city": "Rome"}', partial=False))
    assert output.feed(event('{"city": "P')) == {"city": "P"}


def test_a_whole_response_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValidationError):
        PartialOutput(Trip).feed(event("{}", partial=False))


async def test_with_an_agent_that_streams() -> None:
    model = ScriptedModel([chunks('{"ci', 'ty": "Rome"}')])
    agent = LlmAgent(name="clerk", model=model, output_schema=Trip)
    output = PartialOutput(Trip)
    runner = InMemoryRunner(agent)
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    events = runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message="Where to?",
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    seen = [output.feed(streamed) async for streamed in events]
    assert seen == [{}, {"city": "Rome"}, Trip(city="Rome")]
    await runner.close()

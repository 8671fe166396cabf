"""load_memory and preload_memory: when the memory is searched, and what the model sees of it."""

import logging
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.events.event import Event
from ostinato.memory import InMemoryMemoryService
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import load_memory, preload_memory


class Broken(InMemoryMemoryService):
    async def search_memory(self, **place: Any) -> Any:
        raise OSError("the memory is down")


async def talk_with(model: ScriptedModel, tool: Any, memory: Any = None) -> Conversation:
    """Return a talk with a user who said something about Rome before."""
    if memory is None:
        memory = InMemoryMemoryService()
        events = [
            Event(author=author, timestamp=1.7e9, content=types.Content(parts=parts))
            for author, parts in (
                ("user", [types.Part(text="I love Rome")]),
                ("bot", [types.Part(text="Rome is"), types.Part(text="old")]),
                ("bot", [types.Part(function_call=types.FunctionCall(name="Rome"))]),
            )
        ]
        session = Session(id="s", app_name="app", user_id="user", events=events)
        await memory.add_session_to_memory(session)
    return Conversation(
        Runner(
            app_name="app",
            agent=Agent(name="root", model=model, tools=[tool], instruction="Be kind."),
            session_service=InMemorySessionService(),
            memory_service=memory,
        )
    )


async def test_the_model_searches() -> None:
    model = ScriptedModel(
        [call("load_memory", query="rome"), call("load_memory", query="x"), "Yes"]
    )
    await (await talk_with(model, load_memory)).say("What do I love?")
    assert "load_memory" in model.requests[0].instruction
    assert model.requests[0].tool_names == ["load_memory"]
    found, nothing = (
        (answer.response or {})["result"]["memories"]
        for answer in model.requests[2].function_responses
    )
    assert found[0]["content"] == {"parts": [{"text": "I love Rome"}]}
    assert found[0]["author"] == "user"
    assert nothing == []


async def test_a_call_without_query_is_told() -> None:
    model = ScriptedModel([call("load_memory"), "Yes"])
    await (await talk_with(model, load_memory)).say("What do I love?")
    assert "query" in (model.requests[1].function_responses[0].response or {})["error"]


async def test_the_message_is_looked_up_before_the_model_is_asked() -> None:
    model = ScriptedModel(["Rome.", "Hm.", "Hm."])
    talk = await talk_with(model, preload_memory)
    await talk.say([types.Part(text="Tell me"), types.Part(text="of Rome")])
    await talk.say("Of tea")
    await talk.say([types.Part(inline_data=types.Blob(data=b"a", mime_type="image/png"))])
    first, second, third = (request.instruction for request in model.requests)
    wanted = ["Be kind.", "<PAST_CONVERSATIONS>", "user: I love Rome", "bot: Rome is old", "</PAST"]
    places = [first.index(words) for words in wanted]
    assert places == sorted(places)
    assert "Time: 2023-11-14" in first
    assert "PAST" not in second
    assert "PAST" not in third
    assert model.requests[0].tool_names == []


async def test_a_broken_memory_does_not_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel(["Hello."])
    talk = await talk_with(model, preload_memory, Broken())
    with caplog.at_level(logging.WARNING):
        await talk.say("Rome")
    assert talk.text == "Hello."
    assert "Failed to search the memory" in caplog.text

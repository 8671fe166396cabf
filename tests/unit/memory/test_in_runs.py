"""Memory in runs: written only when an app asks, searched by tools through their context."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.memory import BaseMemoryService, InMemoryMemoryService
from ostinato.memory.base_memory_service import SearchMemoryResponse
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.tool_context import ToolContext
from tests.unit.flows.kit import responses


class Watched(InMemoryMemoryService):
    """Notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def add_session_to_memory(self, session: Any) -> None:
        self.asked.append("add_session")
        await super().add_session_to_memory(session)

    async def add_events_to_memory(self, **given: Any) -> None:
        self.asked.append("add_events")
        await super().add_events_to_memory(**given)

    async def search_memory(self, **given: Any) -> SearchMemoryResponse:
        self.asked.append("search")
        return await super().search_memory(**given)


def talk_of(agent: LlmAgent, memory: BaseMemoryService, session: str = "one") -> Conversation:
    runner = Runner(
        app=App(name="app", root_agent=agent),
        session_service=InMemorySessionService(),
        memory_service=memory,
    )
    return Conversation(runner, user_id="ann", session_id=session)


async def recall(query: str, tool_context: ToolContext) -> dict[str, Any]:
    """Find what was said before."""
    found = await tool_context.search_memory(query)
    return {"facts": [m.content.parts[0].text for m in found.memories if m.content.parts]}


def clerk(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(list(turns)), **fields)


@pytest.mark.spec(199)
async def test_a_run_never_writes_to_memory_by_itself() -> None:
    memory = Watched()
    talk = talk_of(clerk(call("recall", query="tea"), "Done.", tools=[recall]), memory)
    await talk.say("I like tea")
    assert memory.asked == ["search"]
    assert responses(talk.events) == [{"facts": []}]


@pytest.mark.spec(198, 199)
async def test_what_an_app_adds_after_a_run_is_found_by_a_tool_of_another_session() -> None:
    memory = Watched()
    first = talk_of(clerk("Noted."), memory)
    await first.say("I like green tea")
    session = await first.session()
    await memory.add_events_to_memory(app_name="app", user_id="ann", events=session.events[-2:])
    agent = clerk(call("recall", query="Tea?"), "Green tea.", tools=[recall])
    events = await talk_of(agent, memory, session="two").say("What do I drink?")
    assert responses(events) == [{"facts": ["I like green tea"]}]


@pytest.mark.spec(199)
async def test_a_callback_may_add_the_session_or_some_events_to_memory() -> None:
    async def remember(callback_context: Any) -> None:
        await callback_context.add_session_to_memory()
        events = callback_context.session.events[:1]
        await callback_context.add_events_to_memory(
            events=events, custom_metadata={"kind": "question"}
        )

    memory = Watched()
    await talk_of(clerk("Yes.", after_agent_callback=remember), memory).say("Is tea warm")
    assert memory.asked == ["add_session", "add_events"]
    found = await memory.search_memory(app_name="app", user_id="ann", query="tea yes")
    assert [(m.author, m.content.parts[0].text) for m in found.memories if m.content.parts] == [
        ("user", "Is tea warm"),
        ("clerk", "Yes."),
    ]


@pytest.mark.spec(198)
def test_the_port_s_search_has_to_be_implemented() -> None:
    with pytest.raises(TypeError, match="search_memory"):
        type("Half", (BaseMemoryService,), {"add_session_to_memory": None})()

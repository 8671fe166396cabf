"""The agent that only searches with Google, and that agent as a tool."""

from __future__ import annotations

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import AgentTool, google_search
from ostinato.tools.google_search_agent_tool import (
    GoogleSearchAgentTool,
    create_google_search_agent,
)
from ostinato.tools.google_search_tool import GoogleSearchTool


@pytest.mark.spec(129)
def test_the_agent_searches() -> None:
    agent = create_google_search_agent("gemini-2.5-flash")
    assert (agent.name, agent.model) == ("google_search_agent", "gemini-2.5-flash")
    assert agent.description == (
        "An agent for performing Google search using the `google_search` tool"
    )
    assert agent.tools == [google_search]
    tool = GoogleSearchAgentTool(agent=agent)
    assert isinstance(tool, AgentTool) and tool.propagate_grounding_metadata
    assert (tool.name, tool.description) == (agent.name, agent.description)


@pytest.mark.spec(129)
async def test_its_search_stands_beside_other_tools() -> None:
    found = types.GroundingMetadata(web_search_queries=["tides"])
    said = types.Content(role="model", parts=[types.Part(text="at six")])
    answer = LlmResponse(content=said, grounding_metadata=found)
    searcher = ScriptedModel([answer], model="gemini-2.5-flash")

    def book(hour: int) -> str:
        """Book a boat."""
        return f"booked at {hour}"

    clerk = ScriptedModel([call("google_search_agent", request="tides"), "High water is at six."])
    tool = GoogleSearchAgentTool(agent=create_google_search_agent(searcher))
    talk = Conversation(LlmAgent(name="clerk", model=clerk, tools=[tool, book]))
    await talk.say("when is high water?")
    assert [one.to_json_dict() for one in searcher.requests[0].config.tools or []] == [
        {"google_search": {}}
    ]
    assert "at six" in str(clerk.requests[-1].contents)


@pytest.mark.parametrize(
    ("bypass", "beside", "kind"),
    [
        (False, True, GoogleSearchTool),
        (True, False, GoogleSearchTool),
        (True, True, GoogleSearchAgentTool),
    ],
)
async def test_an_agent_may_put_its_search_into_an_agent_of_its_own(
    bypass: bool, beside: bool, kind: type
) -> None:
    def book(hour: int) -> str:
        """Book a boat."""
        return f"booked at {hour}"

    model = ScriptedModel(model="gemini-2.5-flash")
    search = GoogleSearchTool(bypass_multi_tools_limit=bypass)
    agent = LlmAgent(name="clerk", model=model, tools=[search, *([book] if beside else [])])
    first, again = (await agent.canonical_tools())[0], (await agent.canonical_tools())[0]
    assert type(first) is kind and first is again
    if isinstance(first, GoogleSearchAgentTool):
        assert isinstance(first.agent, LlmAgent)
        assert first.agent.model is model and first.agent.tools == [google_search]

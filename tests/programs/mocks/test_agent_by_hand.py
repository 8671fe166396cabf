"""pytest style: agents run by hand with an InvocationContext made in the test."""

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmResponse
from google.adk.sessions import InMemorySessionService
from google.genai import types


class Says(BaseAgent):
    escalate: bool = False

    async def _run_async_impl(self, ctx):
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            content=types.ModelContent(f"from {self.name}"),
            actions=EventActions(escalate=self.escalate or None),
        )


class Fixed(BaseLlm):
    model: str = "fixed"

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.ModelContent("fixed"))


async def context_of(agent):
    service = InMemorySessionService()
    session = await service.create_session(app_name="t", user_id="u")
    return InvocationContext(
        invocation_id="inv", agent=agent, session=session, session_service=service
    )


@pytest.mark.asyncio
async def test_sequence():
    agent = SequentialAgent(name="all", sub_agents=[Says(name="a"), Says(name="b")])
    events = [event async for event in agent.run_async(await context_of(agent))]
    assert [event.author for event in events] == ["a", "b"]
    assert {event.invocation_id for event in events} == {"inv"}


@pytest.mark.asyncio
async def test_loop_ends_when_escalated():
    agent = LoopAgent(
        name="loop", max_iterations=5, sub_agents=[Says(name="a"), Says(name="b", escalate=True)]
    )
    events = [event async for event in agent.run_async(await context_of(agent))]
    assert [event.author for event in events] == ["a", "b"]


@pytest.mark.asyncio
async def test_llm_agent_with_callbacks():
    seen = []
    agent = LlmAgent(
        name="desk",
        model=Fixed(),
        output_key="out",
        before_agent_callback=lambda callback_context: seen.append(callback_context.agent_name),
    )
    context = await context_of(agent)
    context.run_config = RunConfig()
    (event,) = [event async for event in agent.run_async(context)]
    assert event.actions.state_delta == {"out": "fixed"}
    assert event.content.parts == [types.Part(text="fixed")]
    assert seen == ["desk"]
    assert context.session.events == []


@pytest.mark.asyncio
async def test_copies_of_contexts():
    context = await context_of(Says(name="a"))
    copy = context.model_copy(update={"branch": "x"})
    assert (copy.branch, context.branch) == ("x", None)
    assert copy.session is context.session and copy.agent is context.agent

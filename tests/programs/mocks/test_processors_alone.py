"""pytest style: request processors and flow functions called by hand."""

from unittest.mock import AsyncMock, MagicMock

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.flows.llm_flows import contents, functions, instructions
from google.adk.models import LlmRequest
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.genai import types


async def context_of(agent, state=None):
    service = InMemorySessionService()
    session = await service.create_session(app_name="t", user_id="u", state=state)
    return InvocationContext(
        invocation_id="inv", agent=agent, session=session, session_service=service
    )


async def run(processor, context, request):
    return [event async for event in processor.request_processor.run_async(context, request)]


@pytest.mark.asyncio
async def test_instructions_are_filled_in():
    agent = LlmAgent(name="a", model="gemini-2.0-flash", instruction="Hi {name} and {other?}.")
    request = LlmRequest(config=types.GenerateContentConfig())
    assert await run(instructions, await context_of(agent, {"name": "Ann"}), request) == []
    assert request.config.system_instruction == "Hi Ann and ."


@pytest.mark.asyncio
async def test_contents_come_from_the_session():
    agent = LlmAgent(name="a", model="gemini-2.0-flash")
    context = await context_of(agent)
    context.session.events.append(Event(author="user", content=types.UserContent("one")))
    context.session.events.append(Event(author="a", content=types.ModelContent("two")))
    context.session.events.append(Event(author="b", content=types.ModelContent("three")))
    request = LlmRequest()
    await run(contents, context, request)
    assert [content.role for content in request.contents] == ["user", "model", "user"]
    assert request.contents[0] == types.UserContent("one")
    assert "three" in request.contents[2].parts[-1].text


@pytest.mark.asyncio
async def test_function_calls_are_handled():
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    agent = LlmAgent(name="a", model="gemini-2.0-flash", tools=[add])
    call = types.FunctionCall(name="add", args={"a": 1, "b": 2}, id="c1")
    event = Event(author="a", content=types.ModelContent([types.Part(function_call=call)]))
    answer = await functions.handle_function_calls_async(
        await context_of(agent), event, {"add": FunctionTool(add)}
    )
    (response,) = answer.get_function_responses()
    assert (response.id, response.response) == ("c1", {"result": 3})
    assert answer.author == "a"


@pytest.mark.asyncio
async def test_a_mocked_tool():
    tool = MagicMock()
    tool.name, tool.is_long_running = "add", False
    tool.run_async = AsyncMock(return_value={"sum": 3})
    agent = LlmAgent(name="a", model="gemini-2.0-flash")
    call = types.FunctionCall(name="add", args={"a": 1}, id="c1")
    event = Event(author="a", content=types.ModelContent([types.Part(function_call=call)]))
    answer = await functions.handle_function_calls_async(
        await context_of(agent), event, {"add": tool}
    )
    assert answer.content.parts[0].function_response.response == {"sum": 3}
    assert tool.run_async.await_args.kwargs["args"] == {"a": 1}

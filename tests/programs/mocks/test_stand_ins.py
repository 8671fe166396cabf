"""pytest style: mocks in place of tools and contexts, subclasses of content records."""

import asyncio
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool
from google.adk.utils.instructions_utils import inject_session_state
from google.genai import types


class Scripted(BaseLlm):
    parts: list = []

    async def generate_content_async(self, llm_request, stream=False):
        part = self.parts.pop(0)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def run(agent):
    runner = InMemoryRunner(agent=agent, app_name="app")
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    message = types.Content(role="user", parts=[types.Part(text="hi")])
    return [
        event async for event in runner.run_async(user_id="u", session_id="s", new_message=message)
    ]


def test_tool():
    tool = MagicMock(spec=BaseTool)
    tool.name, tool.description, tool.is_long_running = "work", "Works.", False
    tool.run_async = AsyncMock(return_value={"done": 1})

    async def offer(*, tool_context, llm_request):
        llm_request.tools_dict["work"] = tool

    tool.process_llm_request = offer
    call = types.Part(function_call=types.FunctionCall(name="work", args={}))
    model = Scripted(model="m", parts=[call, types.Part(text="ok")])
    events = asyncio.run(run(LlmAgent(name="a", model=model, tools=[tool])))
    assert events[1].get_function_responses()[0].response == {"done": 1}
    assert tool.run_async.await_count == 1


@pytest.mark.parametrize("is_mock", [True, False])
def test_context_of_a_template(is_mock):
    service = None
    session = SimpleNamespace(state={"a": "1", "b": None}, app_name="x", user_id="u", id="s")
    inside = SimpleNamespace(session=session, artifact_service=service)
    context = Mock(spec=ReadonlyContext) if is_mock else SimpleNamespace()
    context._invocation_context = inside
    text = asyncio.run(inject_session_state("x {a} {b} {c?} { a }", context))
    assert text == "x 1   1"
    with pytest.raises(KeyError, match=r"Context variable not found: `c`\."):
        asyncio.run(inject_session_state("{c}", context))
    with pytest.raises(ValueError, match=r"Artifact service is not initialized\."):
        asyncio.run(inject_session_state("{artifact.f}", context))
    inside.artifact_service = AsyncMock()
    inside.artifact_service.load_artifact.return_value = None
    with pytest.raises(KeyError, match=r"Artifact f not found\."):
        asyncio.run(inject_session_state("{artifact.f}", context))


class Tagged(types.Content):
    tag: str = ""


class Tagging(BaseAgent):
    async def _run_async_impl(self, ctx):
        content = Tagged(role="model", parts=[types.Part(text="x")], tag="zz")
        yield Event(author=self.name, content=content)


def test_content_of_a_subclass():
    (event,) = asyncio.run(run(Tagging(name="a")))
    assert isinstance(event.content, Tagged) and event.content.tag == "zz"
    assert event.content.parts[0].text == "x"


def test_fields_that_were_given():
    content = types.Content(role="user", parts=[types.Part(text="x")])
    given = {"role": "user", "parts": [{"text": "x"}]}
    assert Event(author="a", content=content).model_dump(exclude_unset=True)["content"] == given
    assert LlmResponse(content=content).model_dump(exclude_unset=True) == {"content": given}
    config = types.GenerateContentConfig(temperature=1)
    request = LlmRequest(contents=[content], config=config)
    assert request.model_dump(exclude_unset=True) == {
        "contents": [given],
        "config": {"temperature": 1.0},
    }


def add(a: int) -> int:
    return a + 1


def hook(callback_context):
    return None


@pytest.mark.parametrize("make", [tuple, set, iter])
def test_several_in_any_form(make):
    agent = LlmAgent(name="a", tools=make([add]), sub_agents=make([]))
    assert agent.tools == [add]
    assert LlmAgent(name="b", before_agent_callback=(hook,)).before_agent_callback == [hook]


@pytest.mark.parametrize(
    "field, value",
    [
        ("instruction", ["a"]),
        ("global_instruction", 3),
        ("static_instruction", 5),
        ("planner", "x"),
        ("code_executor", "x"),
        ("parent_agent", "x"),
        ("sub_agents", None),
    ],
)
def test_field_of_the_wrong_type(field, value):
    with pytest.raises(ValueError, match=field):
        LlmAgent(name="a", **{field: value})

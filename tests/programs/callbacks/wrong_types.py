"""Callbacks that return what they should not: a text, a number, a dict; what a program sees."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def ping() -> str:
    """Pings."""
    return "pong"


async def attempt(name, **callbacks):
    agent = Agent(
        name="desk", model=Scripted(replies=[call("ping"), say("Ok.")]), tools=[ping], **callbacks
    )
    runner = InMemoryRunner(agent=agent, app_name="desk")
    await runner.session_service.create_session(app_name="desk", user_id="u", session_id="s")
    events = []
    try:
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent("Hi")
        ):
            events.append(event)  # noqa: PERF401
        show(name=name, events=[event.content for event in events])
    except Exception:
        show(name=name, raised=True, events=len(events))


async def main():
    await attempt("tool text", before_tool_callback=lambda tool, args, tool_context: "text")
    await attempt("tool list", before_tool_callback=lambda tool, args, tool_context: [1])
    await attempt("tool empty", before_tool_callback=lambda tool, args, tool_context: {})
    await attempt(
        "after empty", after_tool_callback=lambda tool, args, tool_context, tool_response: {}
    )
    await attempt("agent text", before_agent_callback=lambda callback_context: "text")
    await attempt("agent false", before_agent_callback=lambda callback_context: False)
    await attempt("wrong name", before_agent_callback=lambda context: None)
    await attempt("model false", before_model_callback=lambda callback_context, llm_request: 0)


asyncio.run(main())

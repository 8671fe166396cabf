"""rewind_async takes back an invocation: state and what the model is sent."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types
from showing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def put(key: str, tool_context: ToolContext) -> str:
    """Puts."""
    tool_context.state["last"] = key
    tool_context.state[key] = True
    return "put"


async def main():
    agent = Agent(
        name="desk",
        model=Scripted(
            replies=[
                call("put", key="a"),
                say("A."),
                call("put", key="b"),
                say("B."),
                say("Only a."),
            ]
        ),
        tools=[put],
    )
    runner = InMemoryRunner(agent=agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in ("Put a", "Put b"):
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            last = event.invocation_id
    await runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=last)
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("What is there?")
    ):
        pass
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    show(last=session.state["last"], a=session.state["a"], b=session.state.get("b"))
    show(events=len(session.events))
    try:
        await runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id="no")
    except ValueError:
        print("unknown invocation")


asyncio.run(main())

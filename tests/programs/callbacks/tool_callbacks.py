"""Tool callbacks: arguments and results are edited, one call is answered without the tool."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


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


def add(a: int, b: int) -> dict:
    """Adds."""
    return {"sum": a + b}


def before(tool, args, tool_context):
    if args["a"] == 99:
        return {"sum": "cached"}
    args["b"] += 1
    return None


async def after(tool, args, tool_context, tool_response):
    tool_context.state[f"after_{args['a']}"] = tool_response["sum"]
    if args["a"] == 1:
        return {**tool_response, "checked": True}
    return None


root_agent = Agent(
    name="desk",
    model=Scripted(
        replies=[call("add", a=1, b=1), call("add", a=99, b=0), call("add", a=2, b=2), say("Ok.")]
    ),
    tools=[add],
    before_tool_callback=before,
    after_tool_callback=after,
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Add"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

"""Callbacks that keep and edit what they are given: the session stays what was stored."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_request, show_session


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


kept = []


def before_model(callback_context, llm_request):
    kept.append(llm_request)
    llm_request.contents.insert(0, types.UserContent("Remember: be kind."))
    llm_request.config.temperature = 0.1


def after_tool(tool, args, tool_context, tool_response):
    tool_response["edited"] = True


def before_tool(tool, args, tool_context):
    args["text"] = args["text"].strip()


def echo(text: str) -> dict:
    """Echoes."""
    return {"text": text}


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("echo", text=" a "), say("Done."), say("Again.")]),
    tools=[echo],
    before_model_callback=before_model,
    after_tool_callback=after_tool,
    before_tool_callback=before_tool,
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["One", "Two"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

show(temperatures=[one.config.temperature for one in kept])

"""What the contexts of callbacks and tools tell: names, ids, state, artifacts, the message."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types
from showing import show, show_session


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


def look(context, where):
    show(
        where=where,
        agent=context.agent_name,
        run=context.invocation_id,
        said=context.user_content.parts[0].text,
        state=context.state.to_dict(),
        user=context.user_id,
        session=context.session.id,
        events=len(context.session.events),
    )


async def before(callback_context):
    look(callback_context, "before agent")
    callback_context.state["seen"] = "before"
    version = await callback_context.save_artifact("a.txt", types.Part(text="one"))
    show(version=version, delta=callback_context.state.has_delta())


async def read(tool_context: ToolContext) -> dict:
    """Reads."""
    look(tool_context, "tool")
    part = await tool_context.load_artifact("a.txt")
    return {"text": part.text, "files": await tool_context.list_artifacts()}


def before_model(callback_context, llm_request):
    look(callback_context, "before model")


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("read"), say("Read.")]),
    tools=[read],
    before_agent_callback=before,
    before_model_callback=before_model,
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(
        app_name="desk", user_id="u", session_id="s", state={"app:name": "Desk", "x": 1}
    )
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Read")
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())

"""A toolset of one's own with a prefix and a filter by state; it is closed with the runner."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, ToolContext
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types
from showing import show_request, show_session


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


def read(path: str) -> str:
    """Reads."""
    return f"text of {path}"


def write(path: str, tool_context: ToolContext) -> str:
    """Writes."""
    tool_context.state["written"] = path
    return "written"


class Files(BaseToolset):
    async def get_tools(self, readonly_context=None):
        tools = [FunctionTool(read)]
        if readonly_context and readonly_context.state.get("user:admin"):
            tools.append(FunctionTool(write))
        return tools

    async def close(self):
        print("closed")


root_agent = Agent(
    name="desk",
    model=Scripted(
        replies=[call("fs_read", path="a"), say("Read."), call("fs_write", path="b"), say("Done.")]
    ),
    tools=[Files(tool_name_prefix="fs")],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Read a")
    ):
        pass
    async for _ in runner.run_async(
        user_id="u",
        session_id="s",
        new_message=types.UserContent("Write b"),
        state_delta={"user:admin": True},
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))
    await runner.close()


asyncio.run(main())

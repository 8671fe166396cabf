"""A BaseToolset and a BaseTool of one's own: tools made at run time, chosen by state."""

import asyncio
from typing import Any, Optional

from google.adk.agents import Agent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool, FunctionTool, ToolContext
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types
from printing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


def add_numbers(a: int, b: int, tool_context: ToolContext) -> dict[str, Any]:
    """Adds two numbers."""
    tool_context.state["last_sum"] = a + b
    return {"status": "success", "result": a + b}


class Shout(BaseTool):
    def __init__(self):
        super().__init__(name="shout", description="Says it loudly.")

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters=types.Schema(
                type=types.Type.OBJECT,
                properties={"text": types.Schema(type=types.Type.STRING)},
                required=["text"],
            ),
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return args["text"].upper() + "!"

    async def process_llm_request(self, *, tool_context, llm_request) -> None:
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.append_instructions(["Shout when asked."])


class SimpleMathToolset(BaseToolset):
    def __init__(self, prefix: str = "math"):
        super().__init__(tool_name_prefix=prefix)
        self._add = FunctionTool(func=add_numbers)

    async def get_tools(self, readonly_context: Optional[ReadonlyContext] = None) -> list[BaseTool]:
        tools = [self._add]
        if readonly_context and readonly_context.state.get("loud"):
            tools.append(Shout())
        return tools

    async def close(self) -> None:
        print("closed")


agent = Agent(
    name="calculator",
    model=Scripted(
        replies=[
            call("math_add_numbers", a=2, b=3),
            call("shout", text="five"),
            call("math_shout", text="five"),
            say("Five!"),
        ]
    ),
    tools=[SimpleMathToolset(), Shout()],
)


async def main():
    runner = InMemoryRunner(agent=agent, app_name="maths")
    session = await runner.session_service.create_session(
        app_name="maths", user_id="u", state={"loud": True}
    )
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("2 + 3, loudly")
    ):
        show(event)
    await runner.close()


asyncio.run(main())

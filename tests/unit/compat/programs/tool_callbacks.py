"""before_tool, after_tool and on_tool_error: change arguments, answer from a cache, mend errors."""

import asyncio
from typing import Any, Optional

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
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


def get_capital_city(country: str) -> str:
    """Retrieves the capital city of a given country."""
    if country == "Atlantis":
        raise LookupError("sunk")
    return {"France": "Paris", "Canada": "Ottawa"}[country]


def before(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> Optional[dict]:
    print("before", tool.name, args, tool_context.agent_name)
    if args["country"] == "Kanada":
        args["country"] = "Canada"
    if args["country"] == "Blocked":
        return {"result": "Tool execution was blocked."}
    return None


def after(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
) -> Optional[dict]:
    print("after", tool.name, args, tool_response)
    tool_context.state["seen"] = [*tool_context.state.get("seen", []), args["country"]]
    if tool_response == "Paris":
        return {"result": "Paris", "note": "the largest city too"}
    return None


async def on_error(tool, args, tool_context, error):
    return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}


async def main():
    countries = ["France", "Kanada", "Blocked", "Atlantis"]
    agent = LlmAgent(
        name="capitals",
        model=Scripted(
            replies=[*(call("get_capital_city", country=c) for c in countries), say("Done.")]
        ),
        tools=[FunctionTool(get_capital_city)],
        before_tool_callback=before,
        after_tool_callback=after,
        on_tool_error_callback=on_error,
    )
    runner = InMemoryRunner(agent=agent, app_name="capitals")
    await runner.session_service.create_session(app_name="capitals", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Capitals, please")
    ):
        show(event)


asyncio.run(main())

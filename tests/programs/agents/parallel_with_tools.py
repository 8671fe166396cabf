"""Parallel agents that call tools and write state; each sees only its own branch."""

import asyncio

from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types
from showing import show_session


class Own(BaseLlm):
    model: str = "own"

    async def generate_content_async(self, llm_request, stream=False):
        if len(llm_request.contents) == 1:
            part = types.Part.from_function_call(name="mark", args={"key": self.model})
            yield LlmResponse(content=types.ModelContent([part]))
        else:
            yield LlmResponse(content=types.ModelContent(f"{len(llm_request.contents)} seen"))


def mark(key: str, tool_context: ToolContext) -> str:
    """Marks."""
    tool_context.state[key] = True
    return key


async def main():
    members = [LlmAgent(name=name, model=Own(model=name), tools=[mark]) for name in ("a", "b")]
    root = ParallelAgent(name="all", sub_agents=members)
    runner = InMemoryRunner(agent=root, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Go")
    ):
        pass
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    session.events.sort(key=lambda event: event.author)
    show_session(session)


asyncio.run(main())

"""ctx.run_node of agents and functions at once, with names of their own."""

import asyncio
import json

from google.adk import Context, Event, Workflow
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.workflow import node
from google.genai import types
from showing import show_session


class Echo(BaseLlm):
    model: str = "echo"

    async def generate_content_async(self, llm_request, stream=False):
        text = llm_request.contents[-1].parts[-1].text
        yield LlmResponse(content=types.ModelContent(f"about {text}"))


explain = LlmAgent(name="explain", model=Echo(), mode="single_turn")


def size(node_input: str) -> int:
    return len(node_input)


@node(rerun_on_resume=True)
async def plan(ctx: Context, node_input: str):
    texts = [await ctx.run_node(explain, node_input=word) for word in node_input.split()]
    sizes = await asyncio.gather(*(ctx.run_node(size, node_input=text) for text in texts))
    yield Event(message=json.dumps([texts, sizes]))


async def main():
    runner = InMemoryRunner(node=Workflow(name="dynamic", edges=[("START", plan)]), app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("sun moonlight")
    ):
        pass
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    session.events[3:5] = sorted(session.events[3:5], key=lambda event: event.output or 0)
    show_session(session)


asyncio.run(main())

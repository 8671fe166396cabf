"""An agent as a parallel worker: it is asked once per item of a list."""

import asyncio
import json

from google.adk import Event, Workflow
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


class Echo(BaseLlm):
    model: str = "echo"

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(
            content=types.ModelContent(f"about {llm_request.contents[-1].parts[-1].text}")
        )


def topics(node_input: str) -> list[str]:
    return ["sun"]


explain = LlmAgent(name="explain", model=Echo(), parallel_worker=True, mode="single_turn")


def close(node_input: list):
    return Event(message=json.dumps(node_input))


root_agent = Workflow(name="workers", edges=[("START", topics, explain, close)])


async def main():
    runner = InMemoryRunner(node=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Explain"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

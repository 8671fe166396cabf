"""Few-shot examples through ExampleTool and a provider of one's own."""

import asyncio

from google.adk.agents import Agent, SequentialAgent
from google.adk.examples import BaseExampleProvider, Example
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.example_tool import ExampleTool
from google.genai import types
from showing import show, show_session


class Shows(BaseLlm):
    model: str = "shows"

    async def generate_content_async(self, llm_request, stream=False):
        told = llm_request.config.system_instruction
        show(examples=[word in told for word in ("2+2", "four", "roll", "EXAMPLE")])
        yield LlmResponse(content=types.ModelContent("Right."))


class Provider(BaseExampleProvider):
    def get_examples(self, query):
        show(query=query)
        return [Example(input=types.UserContent("roll"), output=[types.ModelContent("six")])]


fixed = [Example(input=types.UserContent("2+2"), output=[types.ModelContent("four")])]
root_agent = SequentialAgent(
    name="both",
    sub_agents=[
        Agent(name="fixed", model=Shows(), tools=[ExampleTool(fixed)]),
        Agent(name="asked", model=Shows(), tools=[ExampleTool(Provider())]),
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["roll a die"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

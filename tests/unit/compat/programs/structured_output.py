"""output_schema with output_key, alone and beside tools; input_schema of an AgentTool."""

import asyncio
import json

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from printing import show, show_request
from pydantic import BaseModel, Field


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


class CountryInput(BaseModel):
    country: str = Field(description="The country to get information about.")
    exact: bool = True


class CapitalInfoOutput(BaseModel):
    capital: str = Field(description="The capital city.")
    population: int


INFO = json.dumps({"capital": "Paris", "population": 2000000})


def agent_for(replies, **settings):
    return LlmAgent(
        name="capital_info",
        description="Knows capitals.",
        model=Scripted(replies=replies),
        output_schema=CapitalInfoOutput,
        output_key="info",
        **settings,
    )


async def run(agent, text):
    print("--", agent.name)
    runner = InMemoryRunner(agent=agent, app_name="capitals")
    session = await runner.session_service.create_session(app_name="capitals", user_id="u")
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent(text)
    ):
        show(event)
    session = await runner.session_service.get_session(
        app_name="capitals", user_id="u", session_id=session.id
    )
    print(session.state)


def lookup(city: str) -> int:
    """Looks a population up."""
    return 2000000


async def main():
    await run(agent_for([say(INFO)]), '{"country": "France"}')
    answer = call("set_model_response", capital="Paris", population=2000000)
    await run(agent_for([call("lookup", city="Paris"), answer], tools=[lookup]), "France")
    child = agent_for([say(INFO)], input_schema=CountryInput)
    await run(
        LlmAgent(
            name="geographer",
            model=Scripted(replies=[call("capital_info", country="France"), say("Paris.")]),
            tools=[AgentTool(agent=child)],
        ),
        "Capital of France?",
    )


asyncio.run(main())

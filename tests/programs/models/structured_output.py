"""An output schema: the model is told, the text is parsed into the state."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel
from showing import show, show_session


class City(BaseModel):
    name: str
    people: int = 0


class Model(BaseLlm):
    model: str = "model"

    async def generate_content_async(self, llm_request, stream=False):
        config = llm_request.config
        name = getattr(config.response_schema, "__name__", None)
        show(schema=name, type=config.response_mime_type)
        yield LlmResponse(content=types.ModelContent('{"name": "Rome"}'))


root_agent = Agent(name="desk", model=Model(), output_schema=City, output_key="city")


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["A city"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

"""A callback that changes what the model is sent: contents, tools, config and system text."""

import asyncio

from google.adk.agents import (
    Agent,
    SequentialAgent,
)
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types
from showing import show, show_request, show_session


class Shows(BaseLlm):
    model: str = "shows"

    async def generate_content_async(self, llm_request, stream=False):
        config = llm_request.config
        show(
            model=llm_request.model,
            system=config.system_instruction,
            temperature=config.temperature,
            stop=config.stop_sequences,
            labels=config.labels,
            declared=[one.name for one in config.tools[0].function_declarations],
        )
        show_request(llm_request)
        yield LlmResponse(content=types.ModelContent("Ok."))


def ping() -> str:
    """Pings."""
    return "pong"


def pong() -> str:
    """Pongs."""
    return "ping"


def before(callback_context, llm_request):
    llm_request.config.temperature = 0.3
    llm_request.config.stop_sequences = ["END"]
    llm_request.config.labels = {"team": "a"}
    llm_request.append_tools([FunctionTool(pong)])
    llm_request.contents = llm_request.contents[-1:]
    llm_request.contents.append(types.UserContent("Be quick."))
    llm_request.config.system_instruction += "\nNever lie."
    llm_request.model = "another"


agent = Agent(
    name="desk",
    model=Shows(),
    instruction="Help.",
    tools=[ping],
    before_model_callback=before,
    generate_content_config=types.GenerateContentConfig(temperature=0.9),
)
root_agent = SequentialAgent(name="line", sub_agents=[agent])


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["One", "Two"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

config = agent.generate_content_config
show(temperature=config.temperature, stop=config.stop_sequences)

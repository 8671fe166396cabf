"""Instructions as functions, static instructions and generated ones, as the model gets them."""

import asyncio

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_event, show_request


class Shows(BaseLlm):
    model: str = "shows"

    async def generate_content_async(self, llm_request, stream=False):
        config = llm_request.config
        show(system=config.system_instruction, temperature=config.temperature)
        show_request(llm_request)
        yield LlmResponse(content=types.ModelContent("Fine."))


async def by_state(context: ReadonlyContext) -> str:
    return f"Speak {context.state['language']} to {context.user_id}. Keep {{braces}}."


fixed = types.Content(role="user", parts=[types.Part(text="Fixed text.")])
root_agent = SequentialAgent(
    name="all",
    sub_agents=[
        LlmAgent(name="called", model=Shows(), instruction=by_state),
        LlmAgent(
            name="fixed",
            model=Shows(),
            static_instruction=fixed,
            instruction="Speak {language}.",
            generate_content_config=types.GenerateContentConfig(temperature=0.5),
        ),
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    await runner.session_service.create_session(
        app_name="desk", user_id="u", session_id="s", state={"language": "Dutch"}
    )
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Hi")
    ):
        show_event(event)


asyncio.run(main())

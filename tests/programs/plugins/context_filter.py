"""ContextFilterPlugin keeps the last turns; GlobalInstructionPlugin tells every agent."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.plugins.global_instruction_plugin import GlobalInstructionPlugin
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_request, show_session


class Shows(BaseLlm):
    model: str = "shows"

    async def generate_content_async(self, llm_request, stream=False):
        show(told=llm_request.config.system_instruction)
        show_request(llm_request)
        yield LlmResponse(content=types.ModelContent("Ok."))


root_agent = Agent(name="desk", model=Shows(), instruction="Help.")
app = App(
    name="desk",
    root_agent=root_agent,
    plugins=[
        ContextFilterPlugin(num_invocations_to_keep=2),
        GlobalInstructionPlugin(global_instruction="Be polite to {user:name?}."),
    ],
)


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["1", "2", "3", "4"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

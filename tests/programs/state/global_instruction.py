"""A global instruction of the root reaches sub-agents; identity and descriptions are told."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


class Shows(BaseLlm):
    model: str = "shows"
    to: str = ""

    async def generate_content_async(self, llm_request, stream=False):
        told = llm_request.config.system_instruction
        words = ("Be kind to Ann", "Own rule", "desk", "helper", "Helps with things", "Root of all")
        show(agent=self.model, told={word: word in told for word in words})
        if self.to:
            part = types.Part.from_function_call(
                name="transfer_to_agent", args={"agent_name": self.to}
            )
            yield LlmResponse(content=types.ModelContent([part]))
        else:
            yield LlmResponse(content=types.ModelContent("Ok."))


helper = Agent(
    name="helper",
    description="Helps with things",
    model=Shows(model="for helper"),
    instruction="Own rule",
)
root_agent = Agent(
    name="desk",
    description="Root of all",
    model=Shows(model="for desk", to="helper"),
    global_instruction="Be kind to {who}",
    sub_agents=[helper],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s", state={"who": "Ann"})
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Hi")
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())

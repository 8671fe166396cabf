"""A coordinator with two agents as tools, called in one step; their state comes back."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from showing import show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def expert(name):
    return AgentTool(
        agent=LlmAgent(
            name=name,
            description=f"Knows {name}.",
            model=Scripted(replies=[say(f"About {name}.")]),
            output_key=f"{name}_said",
        )
    )


two = types.ModelContent(
    [
        types.Part.from_function_call(name=name, args={"request": "tell"})
        for name in ("art", "music")
    ]
)
root_agent = LlmAgent(
    name="desk", model=Scripted(replies=[two, say("Both.")]), tools=[expert("art"), expert("music")]
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Tell"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

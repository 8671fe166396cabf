"""RunConfig: defaults, what it refuses, what a callback sees of it."""

import asyncio

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


config = RunConfig()
show(
    streaming=config.streaming_mode.value,
    limit=config.max_llm_calls,
    blobs=config.save_input_blobs_as_artifacts,
    modalities=config.response_modalities,
    custom=config.custom_metadata,
)
for fields in ({"max_llm_calls": 2**63}, {"no_such_field": 1}, {"streaming_mode": "sse"}):
    try:
        print("made", RunConfig(**fields).streaming_mode)
    except ValueError:
        print("refused", list(fields))


def before(callback_context):
    given = callback_context.run_config
    callback_context.state["limit"] = given.max_llm_calls


root_agent = Agent(
    name="desk", model=Scripted(replies=[say("Hi."), say("Bye.")]), before_agent_callback=before
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Hi"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

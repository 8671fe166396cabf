"""A resumable sequence that pauses for a signature in its first step and goes on with it."""

import asyncio

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import LongRunningFunctionTool
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


def sign(document: str) -> None:
    """Asks for a signature."""


app = App(
    name="desk",
    root_agent=SequentialAgent(
        name="steps",
        sub_agents=[
            LlmAgent(
                name="collect",
                model=Scripted(replies=[call("sign", document="lease"), say("Signed.")]),
                tools=[LongRunningFunctionTool(sign)],
                output_key="signature",
            ),
            LlmAgent(name="file", model=Scripted(replies=[say("Filed.")])),
        ],
    ),
    resumability_config=ResumabilityConfig(is_resumable=True),
)


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Sign")
    ):
        for one in event.get_function_calls():
            asked, run = one, event.invocation_id
    answer = types.FunctionResponse(id=asked.id, name="sign", response={"by": "Ann"})
    async for _ in runner.run_async(
        user_id="u",
        session_id="s",
        invocation_id=run,
        new_message=types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        pass
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())

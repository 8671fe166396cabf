"""A resumable App of two steps that pauses in the first and goes on by invocation id."""

import asyncio

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import LongRunningFunctionTool
from google.genai import types
from printing import show, show_request


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


def sign(document: str) -> None:
    """Asks for a signature; the answer comes later."""


app = App(
    name="signing",
    root_agent=SequentialAgent(
        name="steps",
        sub_agents=[
            LlmAgent(
                name="collect",
                model=Scripted(replies=[call("sign", document="lease"), say("Signed.")]),
                tools=[LongRunningFunctionTool(sign)],
                output_key="signature",
            ),
            LlmAgent(
                name="file",
                model=Scripted(replies=[say("Filed.")]),
                instruction="File {signature}",
            ),
        ],
    ),
    resumability_config=ResumabilityConfig(is_resumable=True),
)


async def main():
    service = InMemorySessionService()
    runner = Runner(app=app, session_service=service)
    session = await service.create_session(app_name="signing", user_id="u")
    waiting = invocation = None
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("Sign the lease")
    ):
        show(event)
        invocation = event.invocation_id
        for found in event.get_function_calls():
            waiting = found
    answer = types.FunctionResponse(id=waiting.id, name="sign", response={"by": "Ann"})
    async for event in runner.run_async(
        user_id="u",
        session_id=session.id,
        invocation_id=invocation,
        new_message=types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ):
        show(event)


asyncio.run(main())

"""ReflectAndRetryToolPlugin: a tool fails twice, then works; the model is told to try again."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins import ReflectAndRetryToolPlugin
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_event


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


tries = []


def fetch(url: str) -> dict:
    """Fetches."""
    tries.append(url)
    if len(tries) < 3:
        raise ConnectionError("down")
    return {"text": "page"}


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("fetch", url=str(n)) for n in range(3)] + [say("Got it.")]),
    tools=[fetch],
)
app = App(name="desk", root_agent=root_agent, plugins=[ReflectAndRetryToolPlugin(max_retries=3)])


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Fetch")
    ):
        for answer in event.get_function_responses():
            response = {**answer.response}
            response.pop("reflection_guidance", None)
            show(response=response)
        if event.is_final_response():
            show_event(event)


asyncio.run(main())

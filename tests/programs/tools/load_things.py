"""load_artifacts, load_memory and preload_memory, as the model sees what they load."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import load_artifacts, load_memory, preload_memory
from google.genai import types
from showing import show_event, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


root_agent = Agent(
    name="desk",
    model=Scripted(
        replies=[
            say("I keep it: the code is blue."),
            call("load_memory", query="code"),
            call("load_artifacts", artifact_names=["a.txt"]),
            say("The code is blue."),
        ]
    ),
    tools=[load_artifacts, load_memory, preload_memory],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    for id, text in (("one", "The code is blue"), ("two", "Which code?")):
        await service.create_session(app_name="desk", user_id="u", session_id=id)
        await runner.artifact_service.save_artifact(
            app_name="desk",
            user_id="u",
            session_id=id,
            filename="a.txt",
            artifact=types.Part(text="text of a"),
        )
        async for event in runner.run_async(
            user_id="u", session_id=id, new_message=types.UserContent(text)
        ):
            if not event.get_function_responses() or "memory" not in str(event.content):
                show_event(event)
        session = await service.get_session(app_name="desk", user_id="u", session_id=id)
        await runner.memory_service.add_session_to_memory(session)


asyncio.run(main())

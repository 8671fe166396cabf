"""A plugin beside a workflow: its hooks for the run, events, agents and models."""

import asyncio

from google.adk import Event, Workflow
from google.adk.agents import (
    LlmAgent,
)
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
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


class Sees(BasePlugin):
    async def before_run_callback(self, *, invocation_context):
        print("run begins")

    async def on_event_callback(self, *, invocation_context, event):
        print("event", event.author, event.node_info.path)

    async def before_agent_callback(self, *, agent, callback_context):
        print("agent", agent.name)

    async def after_model_callback(self, *, callback_context, llm_response):
        print("model", llm_response.content.parts[0].text)

    async def after_run_callback(self, *, invocation_context):
        print("run ends")


def start(node_input: str) -> str:
    return node_input


agent = LlmAgent(name="agent", model=Scripted(replies=[say("Hello.")]))


def tell(node_input: str):
    return Event(message=f"It said {node_input}")


app = App(
    name="desk",
    root_agent=Workflow(name="graph", edges=[("START", start, agent, tell)]),
    plugins=[Sees(name="sees")],
)


async def main():
    runner = InMemoryRunner(app=app)
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

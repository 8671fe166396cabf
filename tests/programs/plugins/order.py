"""Two plugins and the agent's own callbacks: the order of all hooks in one turn."""

import asyncio

from google.adk.agents import Agent
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


HOOKS = (
    "on_user_message_callback before_run_callback after_run_callback on_event_callback "
    "before_agent_callback after_agent_callback before_model_callback after_model_callback "
    "before_tool_callback after_tool_callback"
).split()


class Recorder(BasePlugin):
    pass


def record(hook):
    async def method(self, **kwargs):
        print(self.name, hook, sorted(kwargs))

    return method


for hook in HOOKS:
    setattr(Recorder, hook, record(hook))


def ping() -> str:
    """Pings."""
    return "pong"


def told(name):
    return lambda **kwargs: print("agent", name, sorted(kwargs))


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("ping"), say("Ok.")]),
    tools=[ping],
    before_agent_callback=told("before_agent"),
    after_model_callback=told("after_model"),
    before_tool_callback=told("before_tool"),
)
app = App(name="desk", root_agent=root_agent, plugins=[Recorder(name="one"), Recorder(name="two")])


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

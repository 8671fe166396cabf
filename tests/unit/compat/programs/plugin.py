"""A plugin that counts and logs at every hook, and one that answers for the model."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
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


class CountInvocationPlugin(BasePlugin):
    def __init__(self) -> None:
        super().__init__(name="count_invocation")
        self.log: list[str] = []

    async def on_user_message_callback(self, *, invocation_context, user_message):
        self.log.append("user_message")
        text = user_message.parts[0].text
        return types.Content(role="user", parts=[types.Part(text=text + " (please)")])

    async def before_run_callback(self, *, invocation_context):
        self.log.append("before_run")

    async def before_agent_callback(self, *, agent, callback_context):
        self.log.append(f"before_agent:{agent.name}")

    async def after_agent_callback(self, *, agent, callback_context):
        self.log.append(f"after_agent:{agent.name}")

    async def before_model_callback(self, *, callback_context, llm_request):
        self.log.append("before_model")

    async def after_model_callback(self, *, callback_context, llm_response):
        self.log.append("after_model")

    async def before_tool_callback(self, *, tool, tool_args, tool_context):
        self.log.append(f"before_tool:{tool.name}:{tool_args}")

    async def after_tool_callback(self, *, tool, tool_args, tool_context, result):
        self.log.append(f"after_tool:{tool.name}:{result}")

    async def on_event_callback(self, *, invocation_context, event):
        self.log.append(f"event:{event.author}")
        event.custom_metadata = {"seen": True}
        return event

    async def after_run_callback(self, *, invocation_context):
        self.log.append("after_run")


class Interceptor(BasePlugin):
    async def before_model_callback(self, *, callback_context, llm_request):
        last = llm_request.contents[-1].parts[-1].text or ""
        if "secret" in last:
            part = types.Part(text="That stays secret.")
            return LlmResponse(content=types.Content(role="model", parts=[part]))


def hello_world(query: str) -> str:
    """Prints hello world."""
    return f"Hello world: query is [{query}]"


async def main():
    counting = CountInvocationPlugin()
    agent = Agent(
        name="hello",
        model=Scripted(replies=[call("hello_world", query="hi"), say("Done.")]),
        tools=[hello_world],
    )
    runner = InMemoryRunner(
        agent=agent, app_name="plugged", plugins=[counting, Interceptor(name="interceptor")]
    )
    session = await runner.session_service.create_session(app_name="plugged", user_id="u")
    for text in ["hello world", "a secret"]:
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            show(event)
            print(event.custom_metadata)
    print(*counting.log, sep="\n")


asyncio.run(main())

"""What goes wrong and how a program sees it: a raising model, missing arguments, a call limit."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.agents.run_config import RunConfig
from google.adk.models import BaseLlm, LlmResponse
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


class Broken(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        raise RuntimeError("out of order")
        yield


def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


async def run(agent, **settings):
    print("--", agent.name)
    runner = InMemoryRunner(agent=agent, app_name="errors")
    session = await runner.session_service.create_session(app_name="errors", user_id="u")
    try:
        async for event in runner.run_async(
            user_id="u",
            session_id=session.id,
            new_message=types.UserContent("Go"),
            run_config=RunConfig(**settings),
        ):
            show(event)
    except LlmCallsLimitExceededError as error:
        print("limit:", type(error).__name__)
    except (RuntimeError, ValueError) as error:
        print("raised:", type(error).__name__, error)


async def main():
    await run(LlmAgent(name="broken", model=Broken(model="b")))
    replies = [call("add", b=2), call("add", a=1), say("2")]
    await run(LlmAgent(name="missing", model=Scripted(replies=replies), tools=[add]))
    replies = [call("add", a=1), call("add", a=2), say("never")]
    await run(LlmAgent(name="limit", model=Scripted(replies=replies), tools=[add]), max_llm_calls=2)
    for bad in ("has space", "user"):
        try:
            LlmAgent(name=bad, model=Broken(model="b"))
        except ValueError as error:
            print("refused:", type(error).__name__)
    runner = InMemoryRunner(agent=LlmAgent(name="a", model=Broken(model="b")), app_name="errors")
    try:
        async for _ in runner.run_async(
            user_id="u", session_id="none", new_message=types.UserContent("Go")
        ):
            pass
    except ValueError as error:
        print("no session:", "none" in str(error))


asyncio.run(main())

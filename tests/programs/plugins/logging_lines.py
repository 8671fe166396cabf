"""LoggingPlugin prints each hook, line by line; a handler on google_adk gets the warnings."""

import asyncio
import logging
import re

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.logging_plugin import LoggingPlugin
from google.adk.runners import InMemoryRunner
from google.genai import types


class Scripted(BaseLlm):
    parts: list = []

    async def generate_content_async(self, llm_request, stream=False):
        part = self.parts.pop(0)
        if isinstance(part, Exception):
            raise part
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=3, candidates_token_count=4
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


def add(a: int) -> dict:
    """Add one."""
    return {"sum": a + 1}


class Plugin(LoggingPlugin):
    def _log(self, message):
        print(re.sub(r"(adk-|e-)?[0-9a-f]{8}-[0-9a-f-]{27}", "ID", message))


class Records(logging.Handler):
    def emit(self, record):
        if "duplicate" in record.getMessage():
            print(record.name, record.levelname, record.getMessage()[:41])


async def talk(parts, *messages):
    model = Scripted(model="m", parts=parts)
    agent = LlmAgent(name="desk", model=model, tools=[add], instruction="Help.")
    runner = InMemoryRunner(agent=agent, app_name="app", plugins=[Plugin()])
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    for message in messages:
        content = types.Content(role="user", parts=[types.Part(text=message)])
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=content):
            pass


async def main():
    call = types.Part(function_call=types.FunctionCall(name="add", args={"a": 1}))
    await talk([call, types.Part(text=" Two. " + "x" * 220)], "Add one to one.")
    try:
        await talk([ValueError("down")], "Hi")
    except ValueError as error:
        print(repr(error))


logging.getLogger("google_adk").addHandler(Records())
LlmAgent(name="p", sub_agents=[LlmAgent(name="a"), LlmAgent(name="a")])
logging.getLogger("google_adk").setLevel(logging.ERROR)
LlmAgent(name="p", sub_agents=[LlmAgent(name="a"), LlmAgent(name="a")])
asyncio.run(main())

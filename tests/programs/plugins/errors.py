"""Plugins that catch errors of models and tools, and one whose own hook raises."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


class Flaky(BaseLlm):
    model: str = "flaky"

    async def generate_content_async(self, llm_request, stream=False):
        if llm_request.contents[-1].parts[-1].text:
            yield LlmResponse(
                content=types.ModelContent([types.Part.from_function_call(name="boom", args={})])
            )
        else:
            raise TimeoutError("slow")


class Catches(BasePlugin):
    async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
        return {"caught": type(error).__name__}

    async def on_model_error_callback(self, *, callback_context, llm_request, error):
        return LlmResponse(content=types.ModelContent(f"Caught {type(error).__name__}."))


class Raises(BasePlugin):
    async def before_run_callback(self, *, invocation_context):
        if "raise" in invocation_context.user_content.parts[0].text:
            raise LookupError("by a plugin")


def boom() -> str:
    """Fails."""
    raise OSError("no")


root_agent = Agent(name="desk", model=Flaky(), tools=[boom])
app = App(
    name="desk", root_agent=root_agent, plugins=[Catches(name="catches"), Raises(name="raises")]
)


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in ("go", "raise"):
        try:
            async for _ in runner.run_async(
                user_id="u", session_id="s", new_message=types.UserContent(text)
            ):
                pass
        except Exception as error:
            show(raised=isinstance(error, Exception), plugin="raises" in str(error))
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())

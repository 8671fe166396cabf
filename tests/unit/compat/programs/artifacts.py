"""Artifacts saved and loaded by tools and callbacks, with versions and the user's own."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.artifacts import InMemoryArtifactService
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext
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


async def save_report(text: str, tool_context: ToolContext) -> dict:
    """Saves a report."""
    data = types.Part.from_bytes(data=text.encode(), mime_type="text/plain")
    version = await tool_context.save_artifact("report.txt", data)
    own = await tool_context.save_artifact("user:profile.txt", types.Part(text="Ann"))
    return {"version": version, "own": own}


async def read_report(tool_context: ToolContext) -> dict:
    """Reads the report."""
    names = await tool_context.list_artifacts()
    newest = await tool_context.load_artifact("report.txt")
    first = await tool_context.load_artifact("report.txt", version=0)
    absent = await tool_context.load_artifact("nothing.txt")
    return {
        "names": names,
        "newest": newest.inline_data.data.decode(),
        "first": first.inline_data.data.decode(),
        "absent": absent,
    }


async def look(callback_context: CallbackContext):
    print("artifacts:", await callback_context.list_artifacts())


async def main():
    artifacts = InMemoryArtifactService()
    sessions = InMemorySessionService()
    agent = LlmAgent(
        name="reporter",
        model=Scripted(
            replies=[
                call("save_report", text="one"),
                call("save_report", text="two"),
                call("read_report"),
                say("Read."),
            ]
        ),
        tools=[save_report, read_report],
        after_agent_callback=look,
    )
    runner = Runner(
        agent=agent, app_name="files", session_service=sessions, artifact_service=artifacts
    )
    await sessions.create_session(app_name="files", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Report")
    ):
        show(event)
    place = {"app_name": "files", "user_id": "u", "session_id": "s"}
    print(await artifacts.list_versions(filename="report.txt", **place))
    await artifacts.delete_artifact(filename="report.txt", **place)
    print(await artifacts.list_artifact_keys(**place))


asyncio.run(main())

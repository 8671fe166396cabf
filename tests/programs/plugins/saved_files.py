"""SaveFilesAsArtifactsPlugin: an uploaded file becomes an artifact; the message names it."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


root_agent = Agent(name="desk", model=Scripted(replies=[say("I see.")]))
app = App(name="desk", root_agent=root_agent, plugins=[SaveFilesAsArtifactsPlugin()])


async def main():
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    blob = types.Blob(data=b"abc", mime_type="text/plain", display_name="notes.txt")
    message = types.Content(
        role="user", parts=[types.Part(text="Read it"), types.Part(inline_data=blob)]
    )
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
        pass
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    for event in session.events:
        parts = len(event.content.parts) if event.content else 0
        show(author=event.author, parts=parts, delta=event.actions.artifact_delta)
    files = runner.artifact_service
    place = {"app_name": "desk", "user_id": "u", "session_id": "s"}
    show(keys=await files.list_artifact_keys(**place))
    part = await files.load_artifact(**place, filename="notes.txt")
    show(data=part.inline_data.data.decode(), type=part.inline_data.mime_type)


asyncio.run(main())

"""Messages of all kinds: without a role, with blobs, with several parts, saved as artifacts."""

import asyncio

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_request


class Shows(BaseLlm):
    model: str = "shows"

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=types.ModelContent("Seen."))


async def main():
    runner = InMemoryRunner(agent=Agent(name="desk", model=Shows()), app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    blob = types.Part.from_bytes(data=b"abc", mime_type="text/plain")
    for content, config in (
        (types.Content(parts=[types.Part(text="no role")]), None),
        (types.UserContent(["one", types.Part(text="two")]), None),
        (types.Content(role="user", parts=[types.Part(text="see"), blob]), None),
        (
            types.Content(role="user", parts=[types.Part(text="save"), blob]),
            RunConfig(save_input_blobs_as_artifacts=True),
        ),
    ):
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=content, run_config=config
        ):
            show(author=event.author, role=event.content.role)
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    show(roles=[event.content.role for event in session.events])
    show(saved=len(session.events[-2].content.parts))
    keys = await runner.artifact_service.list_artifact_keys(
        app_name="desk", user_id="u", session_id="s"
    )
    show(keys=len(keys))


asyncio.run(main())

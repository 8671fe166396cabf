"""The credential service in memory and the one in the session state."""

import asyncio

from google.adk.agents import Agent
from google.adk.auth import AuthConfig, AuthCredential, AuthCredentialTypes
from google.adk.auth.auth_schemes import CustomAuthScheme
from google.adk.auth.credential_service.in_memory_credential_service import (
    InMemoryCredentialService,
)
from google.adk.auth.credential_service.session_state_credential_service import (
    SessionStateCredentialService,
)
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types
from showing import show


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


credential = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="secret")


async def use(service, tool_context):
    config = AuthConfig(
        auth_scheme=CustomAuthScheme(type="own"),
        exchanged_auth_credential=credential,
        credential_key="mine",
    )
    before = await service.load_credential(config, tool_context)
    await service.save_credential(config, tool_context)
    after = await service.load_credential(config, tool_context)
    return {"before": before is None, "after": after.api_key if after else None}


async def keep(tool_context: ToolContext) -> dict:
    """Keeps."""
    return {
        "memory": await use(InMemoryCredentialService(), tool_context),
        "state": await use(SessionStateCredentialService(), tool_context),
    }


root_agent = Agent(name="desk", model=Scripted(replies=[call("keep"), say("Kept.")]), tools=[keep])


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    await runner.session_service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Keep")
    ):
        show(content=event.content, keys=sorted(event.actions.state_delta))


asyncio.run(main())

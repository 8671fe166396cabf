"""AuthenticatedFunctionTool: the function gets the credential that is configured."""

import asyncio

from google.adk.agents import Agent
from google.adk.auth import AuthConfig, AuthCredential, AuthCredentialTypes
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.authenticated_function_tool import AuthenticatedFunctionTool
from google.genai import types
from showing import show_request, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


config = AuthConfig(
    auth_scheme={"type": "apiKey", "in": "header", "name": "X-Key"},
    raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k-1"),
)


def fetch(path: str, credential: AuthCredential) -> dict:
    """Fetches."""
    return {"path": path, "with": credential.api_key}


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("fetch", path="/a"), say("Fetched.")]),
    tools=[AuthenticatedFunctionTool(func=fetch, auth_config=config)],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Fetch"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

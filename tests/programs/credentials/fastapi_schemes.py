"""A scheme written with the models of fastapi, as google-adk's documentation has it."""

import asyncio

from fastapi.openapi.models import OAuthFlowAuthorizationCode, OAuthFlows
from google.adk.agents import Agent
from google.adk.auth import AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_schemes import OAuth2
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


config = AuthConfig(
    auth_scheme=OAuth2(
        flows=OAuthFlows(
            authorizationCode=OAuthFlowAuthorizationCode(
                authorizationUrl="https://id.example/authorize",
                tokenUrl="https://id.example/token",
                scopes={"read": "Reads"},
            )
        )
    ),
    raw_auth_credential=AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(client_id="me", client_secret="s", redirect_uri="https://me.example"),
    ),
)


def mail(tool_context: ToolContext) -> dict:
    """Reads mail."""
    given = tool_context.get_auth_response(config)
    if not given:
        tool_context.request_credential(config)
        return {"pending": True}
    return {"token": given.oauth2.access_token}


async def main():
    agent = Agent(
        name="desk", model=Scripted(replies=[call("mail"), say("You have mail.")]), tools=[mail]
    )
    runner = InMemoryRunner(agent=agent, app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Mail?")
    ):
        for one in event.get_function_calls():
            if one.name == "adk_request_credential":
                asked = one
        if event.actions.requested_auth_configs:
            show(requested=len(event.actions.requested_auth_configs))
    given = AuthConfig.model_validate(asked.args["authConfig"])
    uri = given.exchanged_auth_credential.oauth2.auth_uri
    show(uri=uri.split("?")[0], scope="scope=read" in uri, client="client_id=me" in uri)


asyncio.run(main())

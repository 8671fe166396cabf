"""Agents in the twelve shapes in which programs for google-adk use MCP servers.

    python adk_agents.py URL SSE_URL TOKEN_URL

Each agent runs against a server whose tools are `whoami` (the request's Authorization and
X-Tenant), `slow` (reports progress) and `poem` (asks the model), with a prompt and a resource.
A line for each says what its tool answered. Nothing here names Ostinato.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from typing import Any, Optional

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.mcp_instruction_provider import McpInstructionProvider
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.auth import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_credential import ServiceAccount, ServiceAccountCredential
from google.adk.auth.auth_schemes import (
    HTTPBearer,
    OAuth2,
    OAuthFlowAuthorizationCode,
    OAuthFlows,
)
from google.adk.models import BaseLlm, LlmResponse
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.mcp_tool import MCPToolset, McpToolset
from google.adk.tools.mcp_tool.mcp_session_manager import (
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from google.genai import types
from joserfc.jwk import RSAKey
from mcp import StdioServerParameters
from mcp.types import CreateMessageResult, SamplingCapability, TextContent

URL, SSE_URL, TOKEN_URL = sys.argv[1:4]
RAW_SERVER = os.path.join(os.path.dirname(__file__), "raw_server.py")


class Script(BaseLlm):
    """Calls one function, then says what it answered."""

    model: str = "script"
    call: str = ""
    args: dict[str, Any] = {}

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts]
        answers = [part.function_response for part in parts if part.function_response]
        if not answers and self.call in llm_request.tools_dict:
            call = types.FunctionCall(name=self.call, args=self.args)
            part = types.Part(function_call=call)
        else:
            told = f"{llm_request.config.system_instruction or ''}"[:40].splitlines()[:1]
            said = [str(answers[-1].response)[:600]] if answers else []
            seen = [part.text or "" for part in parts[-2:]]
            part = types.Part(text=" | ".join([*told, *said, *seen]))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def agent(call: str, *tools: Any, name: str = "root", **args: Any) -> LlmAgent:
    return LlmAgent(name=name, model=Script(call=call, args=args), tools=list(tools))


def stdio(**env: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-I", "-S", RAW_SERVER], env=env or None
    )


def stdio_server_agent() -> LlmAgent:
    params = StdioConnectionParams(server_params=stdio(), timeout=30)
    return agent("echo", McpToolset(connection_params=params, tool_filter=["echo", "read"]), n=1)


def stdio_with_environment_agent() -> LlmAgent:
    params = StdioConnectionParams(server_params=stdio(API_HEADERS="{}"), timeout=30)
    return agent("raw_echo", McpToolset(connection_params=params, tool_name_prefix="raw"), n=2)


def confirmed_agent() -> LlmAgent:
    params = StdioConnectionParams(server_params=stdio(), timeout=30)
    return agent("pay", McpToolset(connection_params=params, require_confirmation=True))


def sse_agent() -> LlmAgent:
    params = SseConnectionParams(url=SSE_URL, headers={"X-Tenant": "sse"}, timeout=30)
    return agent("whoami", McpToolset(connection_params=params, tool_filter=["whoami"]))


def streamable_http_agent() -> LlmAgent:
    params = StreamableHTTPConnectionParams(url=URL, timeout=30)
    toolset = McpToolset(connection_params=params, use_mcp_resources=True)
    made = agent("load_mcp_resource", toolset, resource_names=["news"])
    made.instruction = McpInstructionProvider(params, "greet")
    return made


def dynamic_header_agent() -> LlmAgent:
    def headers(context: ReadonlyContext) -> dict[str, str]:
        return {"X-Tenant": f"tenant of {context.user_id}"}

    params = StreamableHTTPConnectionParams(url=URL)
    return agent("whoami", McpToolset(connection_params=params, header_provider=headers))


def agent_tool_remote_agent() -> LlmAgent:
    params = SseConnectionParams(url=SSE_URL, headers={"X-Tenant": "inner"})
    inner = agent("whoami", McpToolset(connection_params=params), name="helper")
    return agent("helper", AgentTool(agent=inner), request="Who?")


def agent_tool_stdio_agent() -> LlmAgent:
    params = StdioConnectionParams(server_params=stdio(), timeout=30)
    inner = agent("echo", McpToolset(connection_params=params), name="helper", n=3)
    return agent("helper", AgentTool(agent=inner), request="Echo")


def progress_agent() -> LlmAgent:
    def make_callback(
        tool_name: str, *, callback_context: Optional[CallbackContext] = None, **kwargs: Any
    ) -> Any:
        async def note(progress: float, total: Optional[float], message: Optional[str]) -> None:
            print(f"  {tool_name} {progress:g} of {total:g}")

        return note

    params = StreamableHTTPConnectionParams(url=URL)
    return agent("slow", McpToolset(connection_params=params, progress_callback=make_callback))


def sampling_agent() -> LlmAgent:
    async def sample(context: Any, params: Any) -> CreateMessageResult:
        text = TextContent(type="text", text="a sampled line")
        return CreateMessageResult(model="m", role="assistant", content=text)

    params = StreamableHTTPConnectionParams(url=URL)
    toolset = MCPToolset(
        connection_params=params,
        sampling_callback=sample,
        sampling_capabilities=SamplingCapability(),
    )
    return agent("poem", toolset)


def service_account_agent() -> LlmAgent:
    names = {*ServiceAccountCredential.model_fields} - {"type_"}
    key = dict.fromkeys(names, "x") | {
        "private_key": RSAKey.generate_key(2048).as_pem(private=True).decode(),
        "token_uri": TOKEN_URL,
    }
    account = ServiceAccount(
        service_account_credential=ServiceAccountCredential(type="service_account", **key),
        scopes=["read"],
    )
    toolset = McpToolset(
        connection_params=StreamableHTTPConnectionParams(url=URL),
        auth_scheme=HTTPBearer(),
        auth_credential=AuthCredential(
            auth_type=AuthCredentialTypes.SERVICE_ACCOUNT, service_account=account
        ),
    )
    return agent("whoami", toolset)


def toolset_auth_agent() -> LlmAgent:
    flow = OAuthFlowAuthorizationCode(
        authorizationUrl="https://id.example/authorize", tokenUrl=TOKEN_URL, scopes={"read": "r"}
    )
    toolset = McpToolset(
        connection_params=StreamableHTTPConnectionParams(url=URL),
        auth_scheme=OAuth2(flows=OAuthFlows(authorizationCode=flow)),
        auth_credential=AuthCredential(
            auth_type=AuthCredentialTypes.OAUTH2,
            oauth2=OAuth2Auth(client_id="id", client_secret="secret"),
        ),
    )
    return agent("whoami", toolset)


def answer_request(call: types.FunctionCall) -> dict[str, Any]:
    """Return a client's answer to a request for a confirmation or a credential."""
    if call.name == "adk_request_confirmation":
        return {"confirmed": True}
    assert call.args is not None
    config = dict(call.args["authConfig"])
    config["exchangedAuthCredential"] = {
        "authType": "oauth2",
        "oauth2": {"clientId": "id", "accessToken": "consented"},
    }
    return config


async def run(made: LlmAgent) -> str:
    """Run an agent, answer what it asks, and return its last text."""
    runner = InMemoryRunner(agent=made, app_name="shapes")
    session = await runner.session_service.create_session(app_name="shapes", user_id="ann")
    message = types.Content(role="user", parts=[types.Part(text="Go")])
    text = ""
    for _ in range(3):
        asked: list[types.FunctionCall] = []
        events = runner.run_async(user_id="ann", session_id=session.id, new_message=message)
        async for event in events:
            calls = event.get_function_calls()
            asked += [c for c in calls if c.id in (event.long_running_tool_ids or ())]
            if event.is_final_response() and event.content and event.content.parts[0].text:
                text = event.content.parts[0].text
        if not asked:
            break
        print(f"  asked by {asked[0].name}")
        answers = [
            types.FunctionResponse(id=one.id, name=one.name, response=answer_request(one))
            for one in asked
        ]
        parts = [types.Part(function_response=one) for one in answers]
        message = types.Content(role="user", parts=parts)
    await runner.close()
    return text


SHAPES = [
    stdio_server_agent,
    stdio_with_environment_agent,
    confirmed_agent,
    sse_agent,
    streamable_http_agent,
    dynamic_header_agent,
    agent_tool_remote_agent,
    agent_tool_stdio_agent,
    progress_agent,
    sampling_agent,
    service_account_agent,
    toolset_auth_agent,
]


async def main() -> None:
    for shape in SHAPES:
        print(f"{shape.__name__}: {await run(shape())}")


if __name__ == "__main__":
    asyncio.run(main())

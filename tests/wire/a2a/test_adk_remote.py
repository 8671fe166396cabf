"""google-adk's RemoteA2aAgent against our A2A server, each in its own words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from ostinato.server.app import make_app
from ostinato.server.serving import DrainingServer, bind_socket
from ostinato.server.settings import ServerSettings

# google-adk tells of what is experimental in it by warnings.
pytestmark = pytest.mark.filterwarnings("default")

AGENT = '''
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools import FunctionTool


def pay(amount: int, to: str) -> dict:
    """Pay somebody."""
    return {"paid": amount}


class Rules(BaseLlm):
    model: str = "rules"

    async def generate_content_async(self, llm_request, stream=False):
        part = llm_request.contents[-1].parts[-1]
        if part.function_response is not None:
            answer = {"text": f"{part.function_response.name} done"}
        elif part.text == "pay":
            answer = {"functionCall": {"name": "pay", "args": {"amount": 5, "to": "bob"}}}
        elif part.text == "boom":
            raise RuntimeError("the model fell over")
        else:
            answer = {"text": f"You said {part.text}"}
        yield LlmResponse(content={"role": "model", "parts": [answer]})


root_agent = Agent(
    name="desk", model=Rules(), tools=[FunctionTool(pay, require_confirmation=True)]
)
'''


@pytest.fixture
async def card(tmp_path: Path) -> AsyncIterator[str]:
    """The address of the card of an app on a server of ours."""
    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(AGENT)
    settings = ServerSettings(agents=folder.parent, db=str(tmp_path / "s.db"), port=0)
    bound = bind_socket(settings)
    app = make_app(settings)
    server = DrainingServer(uvicorn.Config(app, log_config=None), app.state.host)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        port = bound.getsockname()[1]
        yield f"http://127.0.0.1:{port}/a2a/desk/.well-known/agent-card.json"
    finally:
        server.should_exit = True
        await task


@pytest.mark.parametrize("legacy", [True, False])
async def test_google_adk_speaks_to_our_server(card: str, legacy: bool) -> None:
    agent = RemoteA2aAgent("far", card, use_legacy=legacy)
    runner = InMemoryRunner(agent=agent, app_name="near")
    session = await runner.session_service.create_session(app_name="near", user_id="u")

    async def turn(*parts: types.Part) -> list[Any]:
        message = types.Content(role="user", parts=list(parts))
        run = runner.run_async(user_id="u", session_id=session.id, new_message=message)
        return [event async for event in run]

    def said(events: list[Any]) -> str:
        parts = [p for e in events if e.content and not e.partial for p in e.content.parts or ()]
        return "".join(part.text or "" for part in parts if not part.thought)

    assert said(await turn(types.Part(text="hi"))) == "You said hi"
    asked = await turn(types.Part(text="pay"))
    (call,) = [call for event in asked for call in event.get_function_calls()]
    assert call.id in next(e for e in asked if e.get_function_calls()).long_running_tool_ids
    response = types.FunctionResponse(id=call.id, name=call.name, response={"confirmed": True})
    assert said(await turn(types.Part(function_response=response))) == "pay done"
    assert "Failed with RuntimeError" in said(await turn(types.Part(text="boom")))
    await runner.close()

"""A rejected call: the model reads the reason, if the person gave one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.conftest import Serve

_AGENT = """
from ostinato import types
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools import FunctionTool


def wire(amount: int) -> dict:
    "Send money."
    return {"sent": amount}


class Caller(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            part = types.Part(text=str(last.function_response.response))
        else:
            part = types.Part(function_call=types.FunctionCall(name="wire", args={"amount": 5}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


root_agent = Agent(
    name="bank",
    model=Caller(model="caller"),
    tools=[FunctionTool(wire, require_confirmation=True)],
)
"""
_PLACE = "/apps/bank/users/ann/sessions"


@pytest.mark.parametrize(
    ("decision", "status", "text"),
    [
        ({"action": "reject"}, 202, "{'error': 'This tool call is rejected.'}"),
        ({"action": "reject", "reason": " "}, 202, "{'error': 'This tool call is rejected.'}"),
        (
            {"action": "reject", "reason": "Too much."},
            202,
            "{'error': 'This tool call is rejected.', 'reason': 'Too much.'}",
        ),
        ({"action": "reject", "reason": "No.", "payload": {"x": 1}}, 400, ""),
        ({"action": "approve", "reason": "Why not."}, 422, ""),
        ({"action": "approve", "args": {}}, 422, ""),
        (  # null counts as absent: typed clients send every field
            {
                "action": "approve",
                "args": None,
                "payload": None,
                "reason": None,
                "result": None,
                "text": None,
                "credential": None,
            },
            202,
            "",
        ),
    ],
)
async def test_the_model_reads_why(
    serve: Serve, tmp_path: Path, decision: dict[str, Any], status: int, text: str
) -> None:
    folder = tmp_path / "agents" / "bank"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(_AGENT)
    async with serve(agents=tmp_path / "agents") as served:
        await served.ask("POST", _PLACE, {"sessionId": "one"})
        message = {"role": "user", "parts": [{"text": "wire it"}]}
        body = {"appName": "bank", "userId": "ann", "sessionId": "one", "newMessage": message}
        assert (await served.ask("POST", "/run", body)).is_success
        (waiting,) = (await served.ask("GET", "/apps/bank/approvals")).json()["approvals"]
        path = f"{_PLACE}/one/approvals/{waiting['callId']}"
        answer = await served.ask("POST", path, decision)
        assert answer.status_code == status, answer.text
        if text:
            await served.ask("GET", f"{_PLACE}/one/events/stream?until=idle")
            events = (await served.ask("GET", f"{_PLACE}/one")).json()["events"]
            assert events[-1]["content"]["parts"][0]["text"] == text

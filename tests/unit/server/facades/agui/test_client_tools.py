"""Tools that a client declares: agents call them, and the client answers in its next request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import EventType, RunAgentInput

from tests.unit.server.conftest import Serve, Served
from tests.unit.server.facades.agui.test_run import kinds, one_of, told

pytestmark = pytest.mark.long

# The model calls what a message names, and tells which tools it has and what it was answered.
AGENT = """
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools.agent_tool import AgentTool

def add(a: int, b: int) -> dict:
    "Add two numbers."
    return {"sum": a + b}

class RuleLlm(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        tools = [t.function_declarations for t in llm_request.config.tools or []]
        declared = {d.name: d for some in tools for d in some or ()}
        last = llm_request.contents[-1].parts
        responses = [p.function_response for p in last if p.function_response]
        words = (last[-1].text or "").split()
        args = {"add": {"a": 1, "b": 2}, "paint": {"colour": "red"}}
        if responses:
            parts = [{"text": " ".join(f"{r.name}={r.response}" for r in responses)}]
        elif words and words[0] == "tools":
            parts = [{"text": " ".join(sorted(declared)) or "none"}]
        elif words and words[0] == "schema":
            parts = [{"text": str(declared["paint"].parameters_json_schema)}]
        else:
            parts = [
                {"functionCall": {"name": one, "args": args.get(one, {"request": "tools"})}}
                for one in words
            ]
        yield LlmResponse(content={"role": "model", "parts": parts})

model = RuleLlm(model="rules")
root_agent = Agent(
    name="desk",
    model=model,
    tools=[add, AgentTool(Agent(name="inner", model=model, description="Works inside."))],
    sub_agents=[Agent(name="one_turn", model=model, mode="single_turn", description="Helps.")],
)
"""
PAINT = {
    "name": "paint",
    "description": "Paint the page.",
    "parameters": {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
    },
}


@pytest.fixture
async def desk(serve: Serve, tmp_path: Path) -> AsyncIterator[Served]:
    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(AGENT)
    async with serve(agents=folder.parent) as found:
        yield found


class Page:
    """A client that keeps the thread as the protocol's events tell it."""

    def __init__(self, served: Served, *tools: dict[str, Any]) -> None:
        self.served = served
        self._tools = list(tools)
        self.messages: list[dict[str, Any]] = []

    def answer(self, call: str, content: str, **more: Any) -> None:
        """Note what a tool of the page returned."""
        self.messages.append(
            {"id": f"r-{call}", "role": "tool", "toolCallId": call, "content": content, **more}
        )

    async def send(self, words: str = "", **more: Any) -> list[Any]:
        """Send the thread with some more words; note what comes back."""
        if words:
            message = {"id": str(len(self.messages)), "role": "user", "content": words}
            self.messages.append(message)
        body = {"threadId": "t", "runId": "r", "messages": self.messages, "tools": self._tools}
        asked = RunAgentInput.model_validate({**body, **more})
        events = await told(self.served, asked.model_dump(by_alias=True, mode="json"))
        self._note(events)
        return events

    def _note(self, events: list[Any]) -> None:
        calls = [
            {
                "id": one.tool_call_id,
                "type": "function",
                "function": {"name": one.tool_call_name, "arguments": "{}"},
            }
            for one in events
            if one.type == EventType.TOOL_CALL_START
        ]
        text = said(events)
        if calls or text:
            self.messages.append(
                {"id": f"a{len(self.messages)}", "role": "assistant", "content": text or None}
                | ({"toolCalls": calls} if calls else {})
            )
        for one in events:
            if one.type == EventType.TOOL_CALL_RESULT:
                self.answer(one.tool_call_id, one.content)


def said(events: list[Any]) -> str:
    """Return the words of a run."""
    return "".join(one.delta for one in events if one.type == EventType.TEXT_MESSAGE_CONTENT)


async def test_the_client_answers_in_its_next_request(desk: Served) -> None:
    page = Page(desk, PAINT)
    events = await page.send("paint")
    start = one_of(events, EventType.TOOL_CALL_START)
    assert start.tool_call_name == "paint"
    assert json.loads(one_of(events, EventType.TOOL_CALL_ARGS).delta) == {"colour": "red"}
    assert EventType.TOOL_CALL_RESULT not in [one.type for one in events]
    assert events[-1].outcome.type == "success"
    assert events[-1].outcome.pending_tool_call_ids == [start.tool_call_id]
    page.answer(start.tool_call_id, '{"done": true}')
    events = await page.send()
    assert said(events) == "paint={'done': True}"
    assert events[-1].outcome.pending_tool_call_ids is None
    assert kinds(await page.send())[-1] == "RUN_FINISHED"  # nothing is new


async def test_calls_of_both_sides_in_one_response(desk: Served) -> None:
    page = Page(desk, PAINT)
    events = await page.send("add paint paint")
    result = one_of(events, EventType.TOOL_CALL_RESULT)
    calls = [one.tool_call_id for one in events if one.type == EventType.TOOL_CALL_START]
    assert result.tool_call_id == calls[0]
    assert events[-1].outcome.pending_tool_call_ids == calls[1:]
    page.answer(calls[1], "yes")
    page.answer(calls[2], "", error="no red left")
    words = said(await page.send())
    assert "paint={'result': 'yes'}" in words
    assert "paint={'error': 'no red left'}" in words


async def test_words_instead_of_an_answer_go_on(desk: Served) -> None:
    page = Page(desk, PAINT)
    await page.send("paint")
    events = await page.send("tools")
    assert "paint" in said(events).split()
    assert events[-1].outcome.type == "success"
    assert events[-1].outcome.pending_tool_call_ids is None


async def test_agents_that_talk_with_the_user_have_them(desk: Served) -> None:
    page = Page(desk, PAINT)
    assert said(await page.send("tools")).split() == ["add", "inner", "one_turn", "paint"]
    for called in ("inner", "one_turn"):
        assert "none" in said(await page.send(called)), called
    assert said(await Page(desk).send("tools")).split() == ["add", "inner", "one_turn"]
    schema = said(await page.send("schema"))
    assert "'required': ['colour']" in schema


async def test_an_agents_own_tool_stays_its_own(desk: Served) -> None:
    page = Page(desk, {**PAINT, "name": "add"}, {"name": "look", "description": ""})
    assert said(await page.send("tools")).split() == ["add", "inner", "look", "one_turn"]
    events = await page.send("add")
    assert one_of(events, EventType.TOOL_CALL_RESULT).content == '{"sum": 3}'


async def test_a_call_waits_through_a_restart(serve: Serve, desk: Served) -> None:
    page = Page(desk, PAINT)
    events = await page.send("paint")
    async with serve(agents=desk.host.settings.agents) as other:
        page.served = other
        page.answer(one_of(events, EventType.TOOL_CALL_START).tool_call_id, "blue")
        assert said(await page.send()) == "paint={'result': 'blue'}"


@pytest.mark.parametrize(
    "tools",
    [
        "paint",
        ["paint"],
        [{"description": "No name."}],
        [{"name": "paint"}],
        [{**PAINT, "name": "two words"}],
        [{**PAINT, "name": "x" * 65}],
        [{**PAINT, "name": "adk_request_confirmation"}],
        [PAINT, PAINT],
        [{**PAINT, "parameters": []}],
        [{**PAINT, "parameters": {"type": "string"}}],
        [{**PAINT, "parameters": {"type": ["object"]}}],
        [{**PAINT, "parameters": {"properties": ["colour"]}}],
        [{**PAINT, "parameters": {"properties": {"colour": "string"}}}],
        [{**PAINT, "parameters": {"required": "colour"}}],
        [{**PAINT, "name": f"paint{number}"} for number in range(129)],
    ],
)
async def test_bad_declarations_are_refused(desk: Served, tools: Any) -> None:
    body = {"threadId": "t", "runId": "r", "messages": [], "tools": tools}
    answer = await desk.ask("POST", "/apps/desk/agui", body)
    assert answer.status_code == 422
    assert answer.json()["error"]["type"] == "ValidationError"
    assert "tools" in answer.json()["error"]["message"]
    sessions = await desk.ask("GET", "/apps/desk/users/agui/sessions")
    assert sessions.json() == []

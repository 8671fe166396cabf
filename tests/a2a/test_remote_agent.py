"""RemoteA2aAgent against our own server: what it sends, streams, waits for, and how it fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents.remote_a2a_agent import (
    A2AClientError,
    AgentCardResolutionError,
    RemoteA2aAgent,
)
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.compat import uninstall
from ostinato.events.event import Event
from ostinato.runners import InMemoryRunner
from ostinato.server.settings import ServerSettings
from tests.server.conftest import AGENTS, Served, listening
from tests.server.gate import new_gate

CARD = "/.well-known/agent-card.json"


@pytest.fixture
async def far(tmp_path: Path) -> AsyncIterator[Served]:
    """A server with the agent that is far away."""
    async with listening(ServerSettings(agents=AGENTS, db=str(tmp_path / "far.db"))) as one:
        yield one
    uninstall()


class Near:
    """A session with a remote agent."""

    def __init__(self, agent: RemoteA2aAgent) -> None:
        self.runner = InMemoryRunner(agent=agent, app_name="near")
        self.heard = asyncio.Event()

    async def ask(self, message: Any, *, streaming: bool = False) -> list[Event]:
        """Return the events of a turn."""
        service = self.runner.session_service
        names = {"app_name": "near", "user_id": "u", "session_id": "s"}
        if await service.get_session(**names) is None:
            await service.create_session(**names)
        mode = StreamingMode.SSE if streaming else StreamingMode.NONE
        run = self.runner.run_async(
            user_id="u",
            session_id="s",
            new_message=message,
            run_config=RunConfig(streaming_mode=mode),
        )
        events: list[Event] = []
        async for event in run:
            events.append(event)
            self.heard.set()
        return events


def near(far: Served, **more: Any) -> Near:
    """Return a session with the server's agent."""
    return Near(RemoteA2aAgent("far", f"{far.client.base_url}/a2a/desk{CARD}", **more))


def texts(events: list[Event]) -> list[str]:
    """Return the texts of events."""
    return [(p.text or "").strip() for e in events if e.content for p in e.content.parts or ()]


@pytest.mark.spec(78)
async def test_an_answer_and_the_context_it_keeps(far: Served) -> None:
    session = near(far)
    (first,) = await session.ask("one")
    assert (first.author, texts([first])) == ("far", ["You said one"])
    assert session.runner.agent.description == "Follows rules."
    (second,) = await session.ask("two")
    assert texts([second]) == ["You said two"]
    metadata = [one.custom_metadata or {} for one in (first, second)]
    assert metadata[0]["a2a:context_id"] == metadata[1]["a2a:context_id"]
    assert metadata[0]["a2a:task_id"] != metadata[1]["a2a:task_id"]
    context = metadata[0]["a2a:context_id"]
    stored = await far.ask("GET", f"/apps/desk/users/A2A_USER_{context}/sessions/{context}")
    assert len(stored.json()["events"]) == 4
    await session.runner.close()


async def test_parts_of_an_answer_come_when_they_are_wanted(far: Served) -> None:
    session = near(far)
    events = await session.ask("hi", streaming=True)
    assert [(texts([one]), bool(one.partial)) for one in events] == [
        (["You"], True),
        (["said"], True),
        (["hi"], True),
        (["You said hi"], False),
    ]
    await session.runner.close()


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_approval_is_asked_for_here_and_given_there(far: Served, streaming: bool) -> None:
    session = near(far)
    (asks,) = await session.ask("pay", streaming=streaming)
    (call,) = asks.get_function_calls()
    assert call.name == "adk_request_confirmation"
    assert asks.long_running_tool_ids == {call.id}
    assert (call.args or {})["originalFunctionCall"]["args"] == {"amount": 5000, "to": "bob"}
    response = types.FunctionResponse(id=call.id, name=call.name, response={"confirmed": True})
    answer = types.Content(role="user", parts=[types.Part(function_response=response)])
    done = await session.ask(answer, streaming=streaming)
    assert texts(done)[-1] == "pay done"
    await session.runner.close()


async def test_an_approval_is_given_in_words(far: Served) -> None:
    session = near(far)
    await session.ask("pay")
    assert texts(await session.ask("yes"))[-1] == "pay done"
    await session.runner.close()


async def test_a_task_that_fails_is_an_event_with_its_error(far: Served) -> None:
    session = near(far)
    (event,) = await session.ask("boom")
    assert (event.error_code, event.error_message) == ("TASK_STATE_FAILED", "the model fell over")
    (event,) = await session.ask("refused")
    assert event.error_code == "TASK_STATE_REJECTED"
    await session.runner.close()


async def test_a_card_from_a_file(far: Served, tmp_path: Path) -> None:
    file = tmp_path / "card.json"
    file.write_text((await far.client.get(f"/a2a/desk{CARD}")).text)
    session = Near(RemoteA2aAgent("far", str(file), description="mine"))
    assert texts(await session.ask("hi")) == ["You said hi"]
    assert session.runner.agent.description == "mine"
    await session.runner.close()


async def test_a_card_that_cannot_be_read(far: Served, tmp_path: Path) -> None:
    broken, other = tmp_path / "broken.json", tmp_path / "other.json"
    broken.write_text("{")
    other.write_text(json.dumps({"name": "x"}))
    base = str(far.client.base_url)
    for card in (str(tmp_path / "none.json"), str(broken), str(other), f"{base}/a2a/no{CARD}"):
        session = Near(RemoteA2aAgent("far", card))
        with pytest.raises(AgentCardResolutionError, match="'far'"):
            await session.ask("hi")
        await session.runner.close()
    with pytest.raises(ValueError, match="empty"):
        RemoteA2aAgent("far", " ")
    with pytest.raises(NotImplementedError, match="auth_scheme"):
        RemoteA2aAgent("far", "x", auth_scheme=object())


async def test_an_agent_that_is_gone(far: Served, tmp_path: Path) -> None:
    card = (await far.client.get(f"/a2a/desk{CARD}")).json()
    for one in card["supportedInterfaces"]:
        one["url"] = "http://127.0.0.1:9/a2a/desk"
    file = tmp_path / "card.json"
    file.write_text(json.dumps(card))
    session = Near(RemoteA2aAgent("far", str(file)))
    with pytest.raises(A2AClientError, match="'far'"):
        await session.ask("hi")
    await session.runner.close()


async def test_a_run_that_is_cancelled_here_is_cancelled_there(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "gated"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(
        "from ostinato.agents import Agent\n"
        "from tests.server.gate import GateLlm\n"
        "root_agent = Agent(name='root', model=GateLlm())\n"
    )
    gate = new_gate()
    settings = ServerSettings(agents=folder.parent, db=str(tmp_path / "far.db"), grace=0.0)
    async with listening(settings) as far:
        session = Near(RemoteA2aAgent("far", f"{far.client.base_url}/a2a/gated{CARD}"))
        asking = asyncio.create_task(session.ask("hi", streaming=True))
        await session.heard.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(gate.cancelled.wait(), 60)
        await session.runner.close()

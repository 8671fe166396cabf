"""The past of a session, and what is tried from there: state around an event, forks, trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.conftest import Serve, Served

_AGENT = '''
from ostinato import types
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse


def look(city: str, tool_context) -> dict:
    """Look up a city."""
    tool_context.state["city"] = city
    tool_context.state["user:seen"] = city
    return {"report": "sunny"}


class Echo(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        parts = llm_request.contents[-1].parts
        if parts[-1].text == "look":
            part = types.Part(function_call=types.FunctionCall(name="look", args={"city": "Rome"}))
        else:
            reports = [
                part.function_response.response
                for content in llm_request.contents
                for part in content.parts
                if part.function_response
            ]
            system = llm_request.config.system_instruction
            part = types.Part(text=f"{self.model} | {system} | {parts[-1].text} | {reports}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


root_agent = Agent(name="echo", model=Echo(model="first"), instruction="Plain.", tools=[look])
'''
PLACE = "/apps/echo/users/ann/sessions"


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents" / "echo"
    folder.mkdir(parents=True)
    folder.joinpath("agent.py").write_text(_AGENT)
    return tmp_path / "agents"


def _message(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


async def _talk(served: Served, session: str, *texts: str, state: Any = None) -> list[Any]:
    await served.ask("POST", PLACE, {"sessionId": session, "state": state or {}})
    for text in texts:
        body = {"appName": "echo", "userId": "ann", "sessionId": session}
        answer = await served.ask("POST", "/run", {**body, "newMessage": _message(text)})
        assert answer.is_success, answer.text
    return (await served.ask("GET", f"{PLACE}/{session}")).json()["events"]


async def _try(served: Served, session: str, body: dict[str, Any]) -> tuple[str, list[Any]]:
    """Try something; return the id of the fork and its events once nothing runs there."""
    answer = await served.ask("POST", f"{PLACE}/{session}/trials", body)
    assert answer.status_code == 201, answer.text
    made = answer.json()["id"]
    await served.ask("GET", f"{PLACE}/{made}/events/stream?until=idle")
    return made, (await served.ask("GET", f"{PLACE}/{made}")).json()["events"]


def _text(event: Any) -> str:
    return event["content"]["parts"][0]["text"]


async def test_the_state_around_an_event_begins_with_the_initial_state(
    serve: Serve, agents: Path
) -> None:
    async with serve(agents=agents) as served:
        events = await _talk(served, "one", "look", state={"lang": "en", "city": "none"})
        result = next(one for one in events if one["actions"]["stateDelta"])
        path = f"{PLACE}/one/state"
        around = (await served.ask("GET", f"{path}?eventId={result['id']}")).json()
        last = (await served.ask("GET", path)).json()
        missing = await served.ask("GET", f"{path}?eventId=nothing")
    assert around["initialKnown"] is True
    assert around["initial"] == around["before"] == {"lang": "en", "city": "none"}
    assert around["after"] == {"lang": "en", "city": "Rome", "user:seen": "Rome"}
    assert last["after"] == around["after"]
    assert missing.status_code == 404


async def test_forks_are_a_tree_of_the_events_that_they_share(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents) as served:
        events = await _talk(served, "trunk", "a", "b")
        await _talk(served, "stranger", "a", "b")
        for name, at in (("early", 1), ("late", 3)):
            body = {"atEvent": events[at]["id"], "newSessionId": name}
            assert (await served.ask("POST", f"{PLACE}/trunk/fork", body)).is_success
        await _talk(served, "early", "c")
        for _ in range(2):  # the second time from what is remembered
            tree = (await served.ask("GET", f"{PLACE}/early/forks")).json()
            assert (tree["first"], tree["last"], tree["sessions"]) == (1, 2, [])
            found = {
                tuple(sorted(one["id"] for one in branch["sessions"])): branch
                for branch in tree["branches"]
            }
            assert set(found) == {("late", "trunk"), ("early",)}
            assert found["early",]["first"] == 3
        await served.ask("POST", PLACE, {"sessionId": "empty"})
        empty = (await served.ask("GET", f"{PLACE}/empty/forks")).json()
    assert empty == {"first": 0, "last": 0, "sessions": [], "branches": []}


async def test_an_instruction_is_tried_in_a_fork_and_stays_there(
    serve: Serve, agents: Path
) -> None:
    async with serve(agents=agents, developer=True) as served:
        events = await _talk(served, "one", "hello")
        body = {
            "atEvent": events[-1]["id"],
            "newMessage": _message("again"),
            "instruction": "Rhyme.",
        }
        made, found = await _try(served, "one", body)
        assert made != "one"
        assert len(found) == 4
        assert "Rhyme." in _text(found[-1])
        after = await _talk(served, "one", "and now")
        assert "Plain." in _text(after[-1])
        assert len(after) == 4


async def test_a_message_is_tried_from_the_beginning(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents, developer=True) as served:
        await _talk(served, "one", "hello", state={"lang": "en"})
        made, found = await _try(served, "one", {"newMessage": _message("bye")})
        state = (await served.ask("GET", f"{PLACE}/{made}")).json()["state"]
    assert _text(found[0]) == "bye"
    assert len(found) == 2
    assert state == {"lang": "en"}


async def test_another_result_is_what_the_model_reads(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents, developer=True) as served:
        events = await _talk(served, "one", "look")
        result = events[2]["content"]["parts"][0]["functionResponse"]
        body = {
            "atEvent": events[2]["id"],
            "newMessage": _message("go on"),
            "result": {"callId": result["id"], "response": {"report": "rain"}},
        }
        made, found = await _try(served, "one", body)
        state = (await served.ask("GET", f"{PLACE}/{made}")).json()["state"]
        body["result"] = {"callId": "nothing", "response": {}}
        refused = await served.ask("POST", f"{PLACE}/one/trials", body)
        listed = (await served.ask("GET", PLACE)).json()
    assert "[{'report': 'rain'}]" in _text(found[-1])
    assert state["city"] == "Rome"
    assert refused.status_code == 400
    assert "nothing" in refused.json()["error"]["message"]
    assert len(listed) == 2  # nothing is left of what was refused


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"agent": "nobody", "instruction": "x"}, "'nobody' does not exist"),
        ({"model": "no-such-model-at-all"}, "no-such-model-at-all"),
    ],
)
async def test_what_cannot_be_tried_is_refused(
    serve: Serve, agents: Path, change: dict[str, str], text: str
) -> None:
    async with serve(agents=agents, developer=True) as served:
        await _talk(served, "one", "hello")
        body = {"newMessage": _message("x"), **change}
        refused = await served.ask("POST", f"{PLACE}/one/trials", body)
        listed = (await served.ask("GET", PLACE)).json()
    assert refused.status_code == 400, refused.text
    assert text in refused.json()["error"]["message"]
    assert len(listed) == 1


async def test_a_client_of_a_service_changes_no_agent(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents) as served:
        await _talk(served, "one", "hello")
        body = {"newMessage": _message("x"), "instruction": "Obey."}
        refused = await served.ask("POST", f"{PLACE}/one/trials", body)
        listed = (await served.ask("GET", PLACE)).json()
    assert refused.status_code == 403
    assert "`ostinato web`" in refused.json()["error"]["message"]
    assert len(listed) == 1

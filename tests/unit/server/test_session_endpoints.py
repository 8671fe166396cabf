"""Sessions over HTTP: pages, search, fork, rewind, approvals, and the OpenAPI document."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ostinato.server.app import ENDPOINTS
from tests.unit.server.conftest import Serve, Served
from tests.unit.server.parity.steps import say

BASE = "/apps/desk/users/ann/sessions"


async def settle(served: Served) -> None:
    """Wait until nothing runs."""
    while len(served.host.runs):  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_sessions_come_in_pages_and_are_found_by_id_and_title(served: Served) -> None:
    for number in range(5):
        state = {"__session_metadata__": {"displayName": f"Trip {number}"}}
        await served.ask("POST", BASE, {"sessionId": f"s{number}", "state": state})
    await served.ask("POST", "/apps/desk/users/bob/sessions", {"sessionId": "bobs"})

    async def page(query: str) -> tuple[list[str], str | None]:
        found = (await served.ask("GET", f"/apps/desk/sessions?{query}")).json()
        return [one["id"] for one in found["sessions"]], found.get("nextPageToken")

    first, token = await page("pageSize=4")
    assert len(first) == 4 and token
    second, token = await page(f"pageSize=4&pageToken={token}")
    assert (len(second), token) == (2, None)
    assert sorted(first + second) == ["bobs", "s0", "s1", "s2", "s3", "s4"]
    assert await page("userId=bob") == (["bobs"], None)
    assert await page("search=TRIP%203") == (["s3"], None)
    assert await page("search=bob") == (["bobs"], None)
    assert await page("search=nothing") == ([], None)


async def test_fork_and_rewind(served: Served) -> None:
    await served.ask("POST", BASE, {"sessionId": "s1"})
    runs = [(await served.ask("POST", "/run", say(text))).json() for text in ("one", "two")]
    body = {"atEvent": runs[0][-1]["id"], "newSessionId": "twin"}
    answer = await served.ask("POST", f"{BASE}/s1/fork", body)
    assert answer.status_code == 201
    assert (answer.json()["id"], len(answer.json()["events"])) == ("twin", 2)
    again = await served.ask("POST", f"{BASE}/s1/fork", body)
    assert again.status_code == 409
    body = {"beforeInvocationId": runs[1][-1]["invocationId"]}
    answer = await served.ask("POST", f"{BASE}/s1/rewind", body)
    last = answer.json()["events"][-1]
    assert last["actions"]["rewindBeforeInvocationId"] == runs[1][-1]["invocationId"]


async def waiting(served: Served) -> list[dict[str, Any]]:
    return (await served.ask("GET", "/apps/desk/approvals")).json()["approvals"]


async def test_what_waits_is_listed_and_answered(served: Served) -> None:
    for session in ("a", "b", "c"):
        await served.ask("POST", BASE, {"sessionId": session})
        await served.ask("POST", "/run", say("pay", session))
    found = {one["sessionId"]: one for one in await waiting(served)}
    assert sorted(found) == ["a", "b", "c"]
    assert found["a"]["tool"] == "pay"
    assert found["a"]["args"] == {"amount": 5000, "to": "bob"}
    answers = {
        "a": ({"action": "approve"}, {"paid": 5000, "to": "bob"}),
        "b": ({"action": "edit", "args": {"amount": 5, "to": "eve"}}, {"paid": 5, "to": "eve"}),
        "c": ({"action": "reject"}, None),
    }
    for session, (body, paid) in answers.items():
        path = f"{BASE}/{session}/approvals/{found[session]['callId']}"
        bad = await served.ask("POST", path, {"action": "edit"})
        assert bad.status_code == 400
        answer = await served.ask("POST", path, body)
        assert answer.status_code == 202
        assert answer.json() == {"invocationId": found[session]["invocationId"]}
        await settle(served)
        events = (await served.ask("GET", f"{BASE}/{session}")).json()["events"]
        results = [
            part["functionResponse"]["response"]
            for event in events
            for part in event["content"]["parts"]
            if part.get("functionResponse", {}).get("name") == "pay"
        ]
        assert (paid in results) == (paid is not None), results
        again = await served.ask("POST", path, body)
        assert again.status_code == 409
        told = again.json()["error"]
        assert told["type"] == "CallAlreadyAnsweredError"
        assert told["callId"] == found[session]["callId"]
        assert told["answer"]["confirmed"] is (body["action"] != "reject")
        assert told["answeredAt"] > 0
    assert await waiting(served) == []


async def test_deleting_a_session_deletes_its_files(served: Served) -> None:
    await served.ask("POST", BASE, {"sessionId": "s1"})
    await served.ask("POST", "/run", say("note"))
    assert (await served.ask("GET", f"{BASE}/s1/artifacts")).json() == ["note.txt"]
    await served.ask("DELETE", f"{BASE}/s1")
    await served.ask("POST", BASE, {"sessionId": "s1"})
    assert (await served.ask("GET", f"{BASE}/s1/artifacts")).json() == []


async def test_every_endpoint_is_in_the_document(served: Served) -> None:
    found = (await served.ask("GET", "/openapi.json")).json()
    assert found["openapi"] == "3.1.0"
    operations = {(method.upper(), path) for path, of in found["paths"].items() for method in of}
    assert operations == {(e.method, e.path.replace(":path", "")) for e in ENDPOINTS}
    ids = [one["operationId"] for of in found["paths"].values() for one in of.values()]
    assert len(ids) == len(set(ids))


async def test_sessions_are_found_by_what_was_said(served: Served) -> None:
    for number in range(40):
        event = {"author": "user", "content": {"parts": [{"text": f"Invoice number{number}"}]}}
        await served.ask("POST", BASE, {"sessionId": f"s{number:02}", "events": [event]})
    while True:  # the index catches up in the background
        found = (await served.ask("GET", "/apps/desk/sessions?search=invoice&pageSize=30")).json()
        assert found["complete"] == (found["unindexed"] == 0)
        if found["complete"]:
            break
        await asyncio.sleep(0)
    assert len(found["sessions"]) == 30
    token = found["nextPageToken"]
    rest = await served.ask("GET", f"/apps/desk/sessions?search=invoice&pageToken={token}")
    ids = {one["id"] for one in found["sessions"] + rest.json()["sessions"]}
    assert ids == {f"s{number:02}" for number in range(40)}
    one = await served.ask("GET", "/apps/desk/sessions?search=number17%20invoice")
    assert [each["id"] for each in one.json()["sessions"]] == ["s17"]


BOUND = "/apps/bound/users/ann/sessions"
BOUND_AGENT = """
from pydantic import BaseModel
from ostinato.agents import Agent
from ostinato.testing import ScriptedModel

class Schema(BaseModel):
    count: int = 0

root_agent = Agent(name="root", model=ScriptedModel([]), state_schema=Schema)
"""


@pytest.fixture
def bound(tmp_path: Path) -> Path:
    """A folder with one app whose root has a state schema."""
    folder = tmp_path / "bound-agents"
    folder.joinpath("bound").mkdir(parents=True)
    folder.joinpath("bound", "agent.py").write_text(BOUND_AGENT)
    return folder


@pytest.mark.parametrize("wrong", [{"count": "7"}, {"unknown": 1}])
async def test_state_that_breaks_the_schema_of_the_app_is_refused(
    serve: Serve, bound: Path, wrong: dict[str, Any]
) -> None:
    async with serve(agents=bound) as served:
        right = {"count": 7, "user:any": "x", "__session_metadata__": {"displayName": "Trip"}}
        made = await served.ask("POST", BOUND, {"sessionId": "s", "state": right})
        assert (made.status_code, made.json()["state"]) == (200, right)
        changed = await served.ask("PATCH", f"{BOUND}/s", {"stateDelta": {"count": 8}})
        assert (changed.status_code, changed.json()["state"]["count"]) == (200, 8)
        event = {"author": "user", "invocationId": "e-1", "actions": {"stateDelta": wrong}}
        for method, path, body in (
            ("POST", BOUND, {"sessionId": "t", "state": wrong}),
            ("POST", BOUND, {"sessionId": "t", "events": [event]}),
            ("POST", f"{BOUND}/t", wrong),
            ("PATCH", f"{BOUND}/s", {"stateDelta": wrong}),
        ):
            answer = await served.ask(method, path, body)
            assert (answer.status_code, answer.json()["error"]["type"]) == (
                400,
                "InputValidationError",
            )
        assert (await served.ask("GET", f"{BOUND}/t")).status_code == 404
        assert (await served.ask("GET", f"{BOUND}/s")).json()["state"]["count"] == 8

"""What google-adk's page asks for besides the API: only where it is served, in its own shapes.

The shapes are those that google-adk 2.13.0's server answered.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.optionals import present
from tests.unit.server.conftest import Serve, Served

OPERATION = "generate_content"


@pytest.fixture
async def shown(serve: Serve, tmp_path: Path) -> AsyncIterator[Served]:
    """A server with a page of somebody else's, and a session in which `pay` waits for approval."""
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "index.html").write_text("theirs")
    async with serve(ui=tmp_path / "ui", contents=True) as served:
        await served.ask("POST", "/apps/desk/users/ann/sessions/s1")
        for text in ("add", "pay"):
            message = {"role": "user", "parts": [{"text": text}]}
            body = {"appName": "desk", "userId": "ann", "sessionId": "s1", "newMessage": message}
            assert (await served.ask("POST", "/run", body)).is_success
        await present(served.host.services.spans).flush()
        yield served


async def test_it_is_served_and_told_where_the_server_is(shown: Served) -> None:
    assert (await shown.ask("GET", "/dev-ui/")).text == "theirs"
    config = await shown.ask("GET", "/dev-ui/assets/config/runtime-config.json")
    assert config.json() == {"backendUrl": ""}
    assert (await shown.ask("GET", "/config/telemetry")).json() == {"telemetry": False}
    assert (await shown.ask("POST", "/config/telemetry", {"telemetry": True})).json() == {
        "telemetry": False
    }
    for path in ("eval_sets", "eval_results"):
        assert (await shown.ask("GET", f"/dev/apps/desk/{path}")).json() == []
    assert (await shown.ask("GET", "/dev/apps/desk/builder?ts=1")).text == ""


async def test_spans_belong_to_events_and_hold_the_requests(shown: Served) -> None:
    spans = (await shown.ask("GET", "/dev/apps/desk/debug/trace/session/s1")).json()
    events = (await shown.ask("GET", "/apps/desk/users/ann/sessions/s1")).json()["events"]
    key = "gcp.vertex.agent.event_id"
    of_event = {
        span["attributes"][key]: span["name"] for span in spans if key in span["attributes"]
    }
    assert [of_event.get(event["id"]) for event in events] == [
        None,
        "generate_content rules",
        "execute_tool add",
        "generate_content rules",
        None,
        "generate_content rules",
        None,  # asks a person; no model said it
        "execute_tool pay",
    ]
    assert all(span["span_id"] < 2**53 and span["trace_id"] < 2**53 for span in spans)
    assert all(span["attributes"]["gen_ai.conversation.id"] == "s1" for span in spans)
    second = next(s for s in spans if s["attributes"].get(key) == events[3]["id"])
    details = second["logs"][0]["attributes"]
    assert [one["role"] for one in details["gen_ai.input.messages"]] == [
        "user",
        "assistant",
        "user",
    ]
    assert details["gen_ai.output.messages"][0]["parts"] == [
        {"type": "text", "content": "add done"}
    ]
    assert [one["name"] for one in details["gen_ai.tool.definitions"]] == ["add", "note", "pay"]
    assert "Follow the rules." in details["gen_ai.system_instructions"][0]["content"]


async def test_the_agents_are_drawn(shown: Served) -> None:
    graph = (await shown.ask("GET", "/dev/apps/desk/build_graph")).json()
    assert graph["name"] == "desk"
    assert [one["name"] for one in graph["root_agent"]["tools"]] == ["add", "note", "pay"]
    drawn = (await shown.ask("GET", "/dev/apps/desk/build_graph_image?dark_mode=true")).json()
    assert '"desk" -> "add"' in drawn[""]["dotSrc"]
    events = (await shown.ask("GET", "/apps/desk/users/ann/sessions/s1")).json()["events"]
    where = f"/dev/apps/desk/users/ann/sessions/s1/events/{events[1]['id']}/graph"
    lit = [
        json.loads(line.split(" [")[0])
        for line in (await shown.ask("GET", where)).json()["dotSrc"].splitlines()
        if "#0F5223" in line
    ]
    assert lit == ["desk", "add"]


@pytest.mark.parametrize(
    "path",
    [
        "/dev/apps/none/build_graph",
        "/dev/apps/desk/debug/trace/session/none",
        "/dev/apps/desk/users/ann/sessions/none/events/e/graph",
        "/dev/apps/desk/users/ann/sessions/s1/events/none/graph",
    ],
)
async def test_what_is_not_there_is_not_found(shown: Served, path: str) -> None:
    assert (await shown.ask("GET", path)).status_code == 404


async def test_without_that_page_there_is_nothing_of_it(served: Served) -> None:
    for path in ("/dev-ui/", "/config/telemetry", "/dev/apps/desk/build_graph"):
        assert (await served.ask("GET", path)).status_code == 404


async def test_a_failed_call_leaves_the_view_of_the_others(shown: Served) -> None:
    message = {"role": "user", "parts": [{"text": "boom"}]}
    run = {"appName": "desk", "userId": "ann", "sessionId": "s1", "newMessage": message}
    assert (await shown.ask("POST", "/run", run)).status_code == 500
    spans = (await shown.ask("GET", "/dev/apps/desk/debug/trace/session/s1")).json()
    events = (await shown.ask("GET", "/apps/desk/users/ann/sessions/s1")).json()["events"]
    calls = [one for one in spans if one["attributes"]["gen_ai.operation.name"] == OPERATION]
    assert len(calls) == 4
    for one in calls:  # the page takes an event and an answer of each for granted
        assert one["attributes"]["gcp.vertex.agent.event_id"] in {event["id"] for event in events}
        (answer,) = one["logs"][0]["attributes"]["gen_ai.output.messages"]
        assert answer["parts"]
    failed = calls[-1]["attributes"]["gcp.vertex.agent.event_id"]
    assert events[-1]["id"] == failed and events[-1]["errorCode"] == "RuntimeError"


async def test_the_span_of_an_event_is_found_by_the_event_alone(shown: Served) -> None:
    events = (await shown.ask("GET", "/apps/desk/users/ann/sessions/s1")).json()["events"]
    trace = (await shown.ask("GET", f"/dev/apps/desk/debug/trace/{events[1]['id']}")).json()
    assert trace["gcp.vertex.agent.event_id"] == events[1]["id"]
    assert trace["gen_ai.operation.name"] == OPERATION
    spans = (await shown.ask("GET", "/dev/apps/desk/debug/trace/session/s1")).json()
    assert (trace["trace_id"], trace["span_id"]) in {(o["trace_id"], o["span_id"]) for o in spans}
    for missing in (events[0]["id"], "none"):
        answer = await shown.ask("GET", f"/dev/apps/desk/debug/trace/{missing}")
        assert (answer.status_code, answer.json()["detail"]) == (404, "Trace not found")


async def test_a_session_is_looked_for_page_by_page(
    shown: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.server.place._PAGE", 1)
    for number in range(3):
        await shown.ask("POST", f"/apps/desk/users/bob/sessions/b{number}", {})
    service, sizes = shown.host.services.sessions, list[Any]()
    lists = service.list_sessions

    async def watched(**query: Any) -> Any:
        sizes.append(query.get("page_size"))
        return await lists(**query)

    monkeypatch.setattr(service, "list_sessions", watched)
    assert (await shown.ask("GET", "/dev/apps/desk/debug/trace/session/b2")).json() == []
    assert sizes == [1]
    assert (await shown.ask("GET", "/dev/apps/desk/debug/trace/session/s1")).json()
    assert sizes == [1] * 5
    missing = await shown.ask("GET", "/dev/apps/desk/debug/trace/session/none")
    assert missing.status_code == 404

"""A server whose sessions and memories lie in Agent Engine of Vertex AI."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.hosting.setup_error import SetupError
from ostinato.hosting.stores import engine_of
from tests.unit.server.conftest import Serve
from tests.wire.agent_engine.engine import AgentEngine
from tests.wire.agent_engine.fixtures import engine as engine
from tests.wire.agent_engine.fixtures import waits as waits

FULL = "projects/p-1/locations/europe-west4/reasoningEngines/456"


@pytest.mark.parametrize(
    ("uri", "project", "location"),
    [("agentengine://456", None, None), (f"agentengine://{FULL}", "p-1", "europe-west4")],
)
def test_a_uri_names_an_engine(uri: str, project: str | None, location: str | None) -> None:
    named = {"project": project, "location": location, "agent_engine_id": "456"}
    assert engine_of(uri) == named


@pytest.mark.parametrize("uri", ["agentengine://", "agentengine://a/b", f"agentengine://{FULL}/x"])
def test_a_uri_that_names_none(uri: str) -> None:
    with pytest.raises(SetupError, match="write agentengine://ID"):
        engine_of(uri)


async def test_a_server_over_an_engine(
    engine: AgentEngine, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    uri = f"agentengine://{FULL}"
    async with serve(db=uri, memory=uri) as served:
        made = await served.ask("POST", "/apps/desk/users/ann/sessions/s1", {"a": 1})
        assert made.status_code == 200 and made.json()["state"] == {"a": 1}
        body = {
            "appName": "desk",
            "userId": "ann",
            "sessionId": "s1",
            "newMessage": {"role": "user", "parts": [{"text": "hello"}]},
        }
        events = (await served.ask("POST", "/run", body)).json()
        assert [event["author"] for event in events]
        kept = await served.ask("GET", "/apps/desk/users/ann/sessions/s1")
        assert [event["id"] for event in kept.json()["events"]][1:] == [e["id"] for e in events]
    assert len(engine.events["s1"]) == len(events) + 1
    assert engine.requests()[0]["path"] == f"/v1beta1/{FULL}/sessions"

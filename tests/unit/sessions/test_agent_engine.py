"""Asking Agent Engine when it fails: what is sent again, what is told, and what never is."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import google.auth
import pytest
from google.auth.exceptions import DefaultCredentialsError, RefreshError
from google.oauth2.credentials import Credentials

from ostinato.errors import InputValidationError, StoreError
from ostinato.sessions import VertexAiSessionService
from ostinato.sessions.agent_engine import agent_engine_client
from ostinato.sessions.agent_engine.agent_engine_client import (
    AgentEngineClient,
    AgentEngineError,
    _service_host,
)
from tests.support.dripping_server import HALF_HEADERS, HEADERS, drip_forever
from tests.unit.sessions.talk import OWNER, reloaded, said, texts
from tests.wire.agent_engine.engine import AgentEngine
from tests.wire.agent_engine.fixtures import TOKEN
from tests.wire.fake_server import Answer


def failed(status: int, message: str = "no luck", **fields: Any) -> Answer:
    return Answer({"error": {"code": status, "message": message}}, status=status, **fields)


async def asked(client: AgentEngineClient, **how: Any) -> Any:
    try:
        return await client.ask("GET", "456", "sessions/s1", **how)
    finally:
        await client.close()


@pytest.fixture
def client(engine: AgentEngine) -> AgentEngineClient:
    engine.sessions["s1"] = {"name": "s1"}
    return AgentEngineClient("proj", "us-central1", None)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_what_passes_by_itself_is_asked_again(
    engine: AgentEngine, client: AgentEngineClient, waits: list[float], status: int
) -> None:
    engine.faults = [("GET", failed(status))] * 4
    assert await asked(client) == {"name": "s1"}
    assert len(waits) == 4 and all(0.25 <= wait <= 6 for wait in waits)


@pytest.mark.parametrize("first", [HEADERS, HALF_HEADERS])
async def test_an_answer_that_comes_by_bytes_has_a_time_limit(
    engine: AgentEngine, waits: list[float], monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    with drip_forever(first) as url:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", url)
        client = AgentEngineClient("proj", "us-central1", None, timeout=0.02)
        with pytest.raises(AgentEngineError, match=r"did not answer .* within 0\.02 s"):
            await asked(client)


async def test_an_answer_is_bounded(
    engine: AgentEngine, client: AgentEngineClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_engine_client, "_MOST_BYTES", 5)
    with pytest.raises(AgentEngineError, match="more than 5 bytes"):
        await asked(client)


@pytest.mark.parametrize("items", ["5", '{"a": 1}', "[5]"])
async def test_a_list_of_another_shape_is_an_error(
    engine: AgentEngine, client: AgentEngineClient, items: str
) -> None:
    engine.faults = [("GET", Answer(f'{{"sessions": {items}}}'))]
    with pytest.raises(AgentEngineError, match="sessions is no list of objects"):
        async for _ in client.items("456", "sessions", "sessions", {}):
            pass
    await client.close()


async def test_five_times_at_most(
    engine: AgentEngine, client: AgentEngineClient, caplog: pytest.LogCaptureFixture
) -> None:
    engine.faults = [("GET", failed(503, f"overloaded, {TOKEN}"))] * 9
    with caplog.at_level(logging.WARNING), pytest.raises(StoreError) as caught:
        await asked(client)
    assert str(caught.value) == (
        "Agent Engine 456 (project proj, location us-central1) answered GET sessions/s1 with 503: "
        "overloaded, [redacted]. Try again later."
    )
    assert len(engine.asked) == 5 and len(caplog.records) == 4
    assert TOKEN not in caplog.text and caught.value.__cause__ is None


async def test_the_service_may_say_how_long_to_wait(
    engine: AgentEngine, client: AgentEngineClient, waits: list[float]
) -> None:
    engine.faults = [
        ("GET", failed(429, headers={"retry-after": "7"})),
        ("GET", failed(429, headers={"retry-after": "3600"})),
        ("GET", failed(429, headers={"retry-after": "soon"})),
    ]
    await asked(client)
    assert waits[:2] == [7.0, 30.0] and waits[2] < 3.1


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (401, "Log in again"),
        (403, "roles/aiplatform.user"),
        (404, "Check the engine's id"),
        (409, "Try again later"),
    ],
)
async def test_what_stays_is_told_at_once(
    engine: AgentEngine, client: AgentEngineClient, waits: list[float], status: int, remedy: str
) -> None:
    engine.faults = [("GET", failed(status))]
    with pytest.raises(AgentEngineError, match=remedy) as caught:
        await asked(client)
    assert caught.value.status == status and waits == []


async def test_what_the_service_does_not_take_is_the_callers(
    engine: AgentEngine, client: AgentEngineClient
) -> None:
    engine.faults = [("GET", Answer("<html>proxy</html>", status=400))]
    with pytest.raises(InputValidationError, match=r"with 400: <html>proxy</html>\. Change what"):
        await asked(client)


@pytest.mark.parametrize("body", ['{"name": "s', "[]", "<html>"])
async def test_an_answer_that_is_not_its_format(
    engine: AgentEngine, client: AgentEngineClient, body: str
) -> None:
    engine.faults = [("GET", Answer(body))]
    with pytest.raises(StoreError, match="something that is no JSON object"):
        await asked(client)


async def test_connections_that_break(
    engine: AgentEngine, client: AgentEngineClient, waits: list[float]
) -> None:
    engine.faults = [("GET", Answer({"name": "s1"}, cut_after=5))] * 2
    assert await asked(client) == {"name": "s1"}
    assert len(waits) == 2


async def test_an_answer_that_does_not_come(
    engine: AgentEngine, client: AgentEngineClient, waits: list[float]
) -> None:
    hasty = AgentEngineClient("proj", "us-central1", None, timeout=0.01)
    engine.faults = [("GET", Answer(silent=True))] * 9
    with pytest.raises(StoreError, match=r"did not answer GET sessions/s1 within 0.01 s"):
        await asked(hasty, repeatable=False)
    assert waits == []


async def test_nobody_there(
    engine: AgentEngine, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", "http://127.0.0.1:1/")
    client = AgentEngineClient("proj", "us-central1", None)
    with pytest.raises(StoreError, match=r"did not answer .*ConnectError.*BASE_URL"):
        await asked(client, repeatable=False)
    assert len(waits) == 4  # nothing was done, so that it is asked again


async def test_what_may_not_be_done_twice_is_sent_once(
    engine: AgentEngine, waits: list[float]
) -> None:
    service = VertexAiSessionService("proj", "us-central1", "456")
    engine.faults = [("POST", failed(500))]
    with pytest.raises(StoreError, match="500"):
        await service.create_session(**OWNER)
    assert len(engine.asked) == 1
    engine.faults = [("POST", failed(503)), ("POST", failed(429))]
    await service.create_session(**OWNER)
    assert len(engine.asked) == 4 and len(engine.sessions) == 1
    await service.close()


async def test_an_append_whose_answer_is_lost(engine: AgentEngine) -> None:
    service = VertexAiSessionService("proj", "us-central1", "456")
    made = await service.create_session(**OWNER, session_id="s1")
    engine.lost = [("appendEvent", failed(504))]
    await service.append_event(made, said("hello"))
    assert len(engine.events["s1"]) == 2
    assert texts(made) == texts(await reloaded(service, made)) == ["hello"]
    await service.close()


async def test_an_append_that_fails_shows_nothing(engine: AgentEngine) -> None:
    service = VertexAiSessionService("proj", "us-central1", "456")
    made = await service.create_session(**OWNER, session_id="s1")
    engine.faults = [("appendEvent", failed(500))] * 5
    with pytest.raises(StoreError, match="appendEvent with 500"):
        await service.append_event(made, said("hello", {"n": 1}))
    assert made.events == [] and made.state == {}
    await service.close()


async def test_a_login_that_is_missing_or_refused(
    engine: AgentEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(**_: Any) -> Any:
        raise DefaultCredentialsError("/home/ann/secret.json")

    class Refused(Credentials):
        def refresh(self, request: Any) -> None:
            raise RefreshError(TOKEN)

    monkeypatch.setattr(google.auth, "default", missing)
    with pytest.raises(StoreError, match=r"No login for Agent Engine.*gcloud auth") as caught:
        await asked(AgentEngineClient("proj", "us-central1", None))
    assert "secret" not in str(caught.value)
    monkeypatch.setattr(google.auth, "default", lambda **_: (Refused(None), "proj"))
    with pytest.raises(StoreError, match="did not renew the login") as caught:
        await asked(AgentEngineClient("proj", "us-central1", None))
    assert TOKEN not in str(caught.value)
    assert engine.asked == []


async def test_a_token_is_renewed_when_it_is_due(
    engine: AgentEngine, client: AgentEngineClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed: list[int] = []

    class Short(Credentials):
        token: str | None

        def refresh(self, request: Any) -> None:
            renewed.append(1)
            self.token = f"t{len(renewed)}"

    login = Short(None)
    monkeypatch.setattr(google.auth, "default", lambda **_: (login, "proj"))
    await asyncio.gather(*(client.ask("GET", "456", "sessions/s1") for _ in range(3)))
    login.token = None
    await asked(client)
    assert [one["login"] for one in engine.requests()] == ["Bearer t1"] * 3 + ["Bearer t2"]


async def test_no_project(engine: AgentEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(TOKEN), None))
    with pytest.raises(InputValidationError, match="No project for Agent Engine 456"):
        await asked(AgentEngineClient(None, "us-central1", None))


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
    ],
)
def test_where_a_location_is(location: str, host: str) -> None:
    assert _service_host(location) == f"https://{host}"


async def test_one_client_for_each_loop(engine: AgentEngine) -> None:
    service = VertexAiSessionService("proj", "us-central1", "456")
    await service.create_session(**OWNER, session_id="s1")
    await service.close()
    await service.close()
    assert await service.get_session(**OWNER, session_id="s1") is not None
    await service.close()

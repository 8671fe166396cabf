"""RemoteA2aAgent against our own server: what it sends, streams, waits for, and how it fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ostinato import types
from ostinato.agents.remote_a2a_agent import (
    A2AClientError,
    AgentCardResolutionError,
    RemoteA2aAgent,
)
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
)
from ostinato.auth.auth_schemes import APIKey, HTTPBase, HTTPBearer
from ostinato.compat import uninstall
from ostinato.errors import AgentConfigError
from ostinato.events.event import Event
from ostinato.runners import InMemoryRunner
from ostinato.server.settings import ServerSettings
from tests.unit.server.conftest import AGENTS, Served, listening
from tests.unit.server.gate import new_gate

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
        names: dict[str, Any] = {"app_name": "near", "user_id": "u", "session_id": "s"}
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


@pytest.mark.parametrize("streaming", [pytest.param(False, marks=pytest.mark.long), True])
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
    assert event.error_code == "TASK_STATE_FAILED"
    assert (event.error_message or "").startswith("Failed with RuntimeError. ")
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
    with pytest.raises(NotImplementedError, match="a2a_part_converter"):
        RemoteA2aAgent("far", "x", a2a_part_converter=object())


class Elsewhere:
    """A server of cards, and the requests that any other origin got."""

    def __init__(self, url: str) -> None:
        self.card: dict[str, Any] = {
            "name": "far",
            "description": "d",
            "version": "1",
            "capabilities": {},
            "defaultInputModes": ["text"],
            "defaultOutputModes": ["text"],
            "skills": [],
            "supportedInterfaces": [
                {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
        }
        self.others: list[str] = []
        self.headers: list[httpx.Headers] = []
        transport = httpx.MockTransport(self.answer)
        self.client = httpx.AsyncClient(
            transport=transport, headers={"Authorization": "Bearer canary"}
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.headers.append(request.headers)
        if request.url.path == CARD:
            return httpx.Response(200, json=self.card)
        self.others.append(f"{request.url.scheme}://{request.url.netloc.decode()}")
        return httpx.Response(503)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/a2a",
        "http://cards.example/a2a",
        "https://cards.example:8443/a2a",
        "https://cards.example.evil.example/",
        "https://cards.example@evil.example/",
        "//evil.example/a2a",
        "http://[",
    ],
)
async def test_a_card_sends_no_credentials_to_another_origin(url: str) -> None:
    elsewhere = Elsewhere(url)
    agent = RemoteA2aAgent("far", f"https://cards.example{CARD}", httpx_client=elsewhere.client)
    session = Near(agent)
    with pytest.raises(AgentCardResolutionError, match="trusted_origins"):
        await session.ask("hi")
    assert elsewhere.others == []
    with pytest.raises(AgentCardResolutionError, match="trusted_origins"):
        await session.ask("again")
    assert elsewhere.others == []
    await session.runner.close()
    await elsewhere.client.aclose()


@pytest.mark.parametrize(
    ("url", "trusted"),
    [
        ("https://cards.example/a2a", []),
        ("https://CARDS.example:443/a2a", []),
        ("https://api.example:8443/a2a", ["https://api.example:8443"]),
        ("https://api.example/a2a", ["https://api.example:443/"]),
    ],
)
async def test_the_cards_own_origin_and_trusted_ones_are_asked(
    url: str, trusted: list[str]
) -> None:
    elsewhere = Elsewhere(url)
    agent = RemoteA2aAgent(
        "far",
        f"https://cards.example{CARD}",
        httpx_client=elsewhere.client,
        trusted_origins=trusted,
    )
    session = Near(agent)
    with pytest.raises(A2AClientError):
        await session.ask("hi")
    assert len(elsewhere.others) == 1
    await session.runner.close()
    await elsewhere.client.aclose()


class Redirecting(Elsewhere):
    """A server whose requests of one path lead to another address; it keeps what others got."""

    def __init__(self, path: str, status: int, target: str) -> None:
        super().__init__("https://cards.example/a2a")
        self.path, self.status, self.target = path, status, target
        self.client.follow_redirects = True
        self.client.headers["X-Api-Key"] = "canary"

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == self.path:
            return httpx.Response(self.status, headers={"Location": self.target})
        if request.url.path == "/moved-card":
            return httpx.Response(200, json=self.card)
        return super().answer(request)


@pytest.mark.parametrize(("path", "status"), [("/a2a", 307), ("/a2a", 308), (CARD, 302)])
@pytest.mark.parametrize("streaming", [False, True])
async def test_no_credentials_follow_a_redirect_to_another_origin(
    path: str, status: int, streaming: bool
) -> None:
    elsewhere = Redirecting(path, status, "https://evil.example/a2a")
    agent = RemoteA2aAgent("far", f"https://cards.example{CARD}", httpx_client=elsewhere.client)
    session = Near(agent)
    with pytest.raises((A2AClientError, AgentCardResolutionError), match=r"evil\.example"):
        await session.ask("hi", streaming=streaming)
    assert elsewhere.others == []
    await session.runner.close()
    await elsewhere.client.aclose()


@pytest.mark.parametrize(
    ("path", "status", "target", "others"),
    [
        ("/a2a", 307, "/elsewhere", ["https://cards.example"]),
        ("/a2a", 307, "https://api.example/a2b", ["https://api.example"]),
        (CARD, 302, "https://api.example/moved-card", ["https://cards.example"]),
        ("/a2a", 307, "/a2a", []),
    ],
)
async def test_redirects_to_trusted_origins_are_followed(
    path: str, status: int, target: str, others: list[str]
) -> None:
    elsewhere = Redirecting(path, status, target)
    agent = RemoteA2aAgent(
        "far",
        f"https://cards.example{CARD}",
        httpx_client=elsewhere.client,
        trusted_origins=["https://api.example"],
    )
    session = Near(agent)
    with pytest.raises(A2AClientError):
        await session.ask("hi")
    assert elsewhere.others == others
    await session.runner.close()
    await elsewhere.client.aclose()


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
        "from tests.unit.server.gate import GateLlm\n"
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


def http_credential(scheme: str, **fields: Any) -> AuthCredential:
    """Return a credential for an `Authorization` header."""
    headers = fields.pop("headers", None)
    http = HttpAuth(
        scheme=scheme, credentials=HttpCredentials(**fields), additional_headers=headers
    )
    return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http)


KEY = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="key")
IN_HEADER, IN_COOKIE, IN_QUERY = (
    APIKey.model_validate({"in": place, "name": "x-key"}) for place in ("header", "cookie", "query")
)


@pytest.mark.parametrize(
    ("scheme", "credential", "sent"),
    [
        (IN_HEADER, KEY, {"x-key": "key"}),
        (IN_COOKIE, KEY, {"cookie": "x-key=key"}),
        (HTTPBearer(), http_credential("bearer", token="t"), {"authorization": "Bearer t"}),
        (
            HTTPBearer(),
            http_credential("bearer", token="t", headers={"x-payer": "p"}),
            {"authorization": "Bearer t", "x-payer": "p"},
        ),
        (
            HTTPBase(scheme="basic"),
            http_credential("basic", username="u", password="p"),
            {"authorization": "Basic dTpw"},
        ),
        (
            HTTPBase(scheme="digest"),
            http_credential("digest", token="t"),
            {"authorization": "digest t"},
        ),
    ],
)
async def test_requests_carry_the_agents_credential(
    scheme: Any, credential: AuthCredential, sent: dict[str, str]
) -> None:
    elsewhere = Elsewhere("https://cards.example/a2a")
    agent = RemoteA2aAgent(
        "far",
        f"https://cards.example{CARD}",
        httpx_client=elsewhere.client,
        auth_scheme=scheme,
        auth_credential=credential,
    )
    session = Near(agent)
    with pytest.raises(A2AClientError):
        await session.ask("hi")
    assert len(elsewhere.headers) == 2
    for headers in elsewhere.headers:
        assert sent.items() <= dict(headers).items()
    stored = await session.runner.session_service.get_session(
        app_name="near", user_id="u", session_id="s"
    )
    assert stored is not None and "dTpw" not in stored.model_dump_json()
    await session.runner.close()
    await elsewhere.client.aclose()


@pytest.mark.parametrize(
    ("scheme", "credential", "word"),
    [
        (IN_QUERY, KEY, "query"),
        (HTTPBearer(), KEY, "apiKey"),
        (IN_HEADER, http_credential("bearer", token="t"), "api_key"),
        (HTTPBearer(), None, "cannot ask the user for one"),
    ],
)
async def test_a_credential_that_cannot_be_sent_is_told(
    scheme: Any, credential: AuthCredential | None, word: str
) -> None:
    agent = RemoteA2aAgent(
        "far", "https://cards.example/card", auth_scheme=scheme, auth_credential=credential
    )
    session = Near(agent)
    with pytest.raises(AgentConfigError, match=word):
        await session.ask("hi")
    await session.runner.close()


async def test_a_card_sends_no_own_credential_to_another_origin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = Elsewhere("https://evil.example/a2a")
    monkeypatch.setattr(httpx, "AsyncClient", lambda **_: elsewhere.client)
    agent = RemoteA2aAgent(
        "far", f"https://cards.example{CARD}", auth_scheme=IN_HEADER, auth_credential=KEY
    )
    session = Near(agent)
    with pytest.raises(AgentCardResolutionError, match="trusted_origins"):
        await session.ask("hi")
    assert elsewhere.others == []
    await session.runner.close()


@pytest.mark.parametrize(
    "options",
    [
        {"auth_credential": KEY},
        {"credential_key": "k"},
        {"auth_scheme": IN_HEADER, "a2a_client_factory": object()},
    ],
)
def test_a_credential_that_would_not_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(AgentConfigError, match="auth_scheme"):
        RemoteA2aAgent("far", "https://cards.example/card", **options)

"""Live conversations over a real socket: as google-adk's server holds them, and how they end."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from ostinato.runners import Runner
from ostinato.server.settings import ServerSettings
from tests.unit.server.conftest import Serve, Served, listening
from tests.unit.server.parity.live_steps import CLOSE, PLACE, TALKS, converse, say

pytestmark = pytest.mark.long

HERE = Path(__file__).parent / "parity"
RECORDED = json.loads((HERE / "live.json").read_text())["talks"]
SESSION = "/apps/speaker/users/ann/sessions/s"

# Where ours ends otherwise: code and beginning of the reason, and what google-adk's server does.
OTHERWISE: dict[str, tuple[int, str, str]] = {
    "close": (1000, "", "the socket stays open and silent"),
    "model fails": (
        1011,
        "RuntimeError: Failed with RuntimeError.",
        "the reason has the text, and no type",
    ),
    "unknown app": (1002, "Agent not found: 'nobody'", "the connection breaks without a close"),
    "not JSON": (1007, "InvalidJson: ", "nothing more is heard, and nothing said"),
    "not an object": (1007, "ValidationError: ", "nothing more is heard, and nothing said"),
    "wrong type": (1007, "ValidationError: ", "nothing more is heard, and nothing said"),
    "NaN": (1007, "InvalidJson: ", "nothing more is heard, and nothing said"),
    "half a character": (1007, "InvalidJson: ", "nothing more is heard, and nothing said"),
    "bytes": (1003, "BinaryFrame: ", "1011"),
}


@pytest.fixture
def folder() -> Path:
    """The agents that both servers are asked for."""
    return HERE / "live_agents"


async def make(live: Served) -> None:
    assert (await live.ask("POST", SESSION, {})).status_code == 200


def port_of(live: Served) -> int:
    assert live.client.base_url.port is not None
    return live.client.base_url.port


def talk(live: Served, query: str = PLACE, **options: Any) -> connect:
    return connect(f"ws://127.0.0.1:{port_of(live)}/run_live?{query}", **options)


async def hear(socket: ClientConnection) -> str:
    """Return the text of the next complete turn."""
    texts: list[str] = []
    while True:
        event = json.loads(await socket.recv())
        if event.get("turnComplete"):
            return " ".join(texts)
        parts = event.get("content", {}).get("parts", ())
        texts += [part["text"] for part in parts if part.get("text")]


async def ended(socket: ClientConnection) -> tuple[int, str]:
    """Read until the server closes; return its code and reason."""
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            await socket.recv()
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


async def idle(live: Served) -> None:
    """Wait until nothing runs."""
    while len(live.host.runs):  # noqa: ASYNC110
        await asyncio.sleep(0)


async def log(live: Served) -> list[dict[str, Any]]:
    return (await live.ask("GET", SESSION)).json()["events"]


@pytest.mark.parametrize("name", TALKS)
async def test_conversations_go_as_with_google_adk_s_server(live: Served, name: str) -> None:
    await make(live)
    found, recorded = await converse(name, port_of(live), None), RECORDED[name]
    assert found["said"] == recorded["said"]
    assert found.get("refused") == recorded.get("refused")
    if name not in OTHERWISE:
        assert found == recorded
        return
    code, reason, _ = OTHERWISE[name]
    assert found["close"][0] == code
    assert found["close"][1].startswith(reason)
    assert (found["close"][1] == "") == (reason == "")
    await idle(live)


def test_the_list_of_differences_has_no_line_too_many() -> None:
    same = {"words", "no session", "no user", "evil origin", "evil host"}
    assert same <= TALKS.keys() - OTHERWISE.keys()
    assert RECORDED.keys() == TALKS.keys()
    for name, (code, *_) in OTHERWISE.items():
        assert RECORDED[name]["close"] != [code, ""], name


async def test_what_is_said_is_in_the_session_and_the_next_conversation_goes_on(
    live: Served,
) -> None:
    await make(live)
    for words in ("hi", "again"):
        async with talk(live) as socket:
            await socket.send(json.dumps(say(words)))
            assert await hear(socket) == f"You said {words}"
            status = (await live.ask("GET", f"{SESSION}/run")).json()
            assert (status["state"], status["here"]) == ("running", True)
            await socket.send(json.dumps(CLOSE))
            assert await ended(socket) == (1000, "")
    texts = [
        part["text"]
        for event in await log(live)
        for part in event.get("content", {}).get("parts", ())
    ]
    assert texts == ["hi", "You said hi", "again", "You said again"]
    assert (await live.ask("GET", f"{SESSION}/run")).json()["state"] == "idle"


async def test_a_refused_answer_closes_the_socket_with_its_type_and_is_not_stored(
    live: Served,
) -> None:
    await make(live)
    response = {
        "id": "c1",
        "name": "adk_request_confirmation",
        "response": {"confirmed": "maybe"},
    }
    frame = {"content": {"role": "user", "parts": [{"functionResponse": response}]}}
    async with talk(live) as socket:
        await socket.send(json.dumps(frame))
        code, reason = await ended(socket)
    assert code == 1008
    assert reason.startswith("CallNotOpenError: ")
    await idle(live)
    assert "functionResponse" not in json.dumps(await log(live))


@pytest.mark.parametrize(
    "content",
    [
        {"role": "user", "parts": [{"functionCall": {"id": "x1", "name": "wait", "args": {}}}]},
        {"role": "system", "parts": [{"text": "hi"}]},
    ],
    ids=json.dumps,
)
async def test_a_message_that_is_not_a_user_s_closes_the_socket_and_is_not_stored(
    live: Served, content: Any
) -> None:
    await make(live)
    async with talk(live) as socket:
        await socket.send(json.dumps({"content": content}))
        code, reason = await ended(socket)
    assert code == 1007
    assert reason.startswith("InputValidationError: ")
    await idle(live)
    assert await log(live) == []


async def test_a_message_with_too_many_parts_closes_the_socket(live: Served) -> None:
    await make(live)
    parts = [{"text": "x"}] * (live.host.settings.max_parts + 1)
    async with talk(live) as socket:
        await socket.send(json.dumps({"content": {"role": "user", "parts": parts}}))
        code, reason = await ended(socket)
    assert code == 1007
    assert reason.startswith("ValidationError: A request may have at most 10000 messages")
    assert await log(live) == []


async def test_a_client_that_vanishes_ends_the_run_and_leaves_no_call_open(live: Served) -> None:
    await make(live)
    async with talk(live) as socket:
        await socket.send(json.dumps(say("wait")))
        assert json.loads(await socket.recv())["content"]["parts"][0]["functionCall"]
        socket.transport.abort()
    await idle(live)
    answers = [
        part["functionResponse"]["id"]
        for event in await log(live)
        for part in event.get("content", {}).get("parts", ())
        if "functionResponse" in part
    ]
    assert answers == ["w1"]
    async with talk(live) as socket:
        await socket.send(json.dumps(say("hi")))
        assert await hear(socket) == "You said hi"


async def test_a_client_that_takes_nothing_is_let_go(live: Served) -> None:
    await make(live)
    async with talk(live, compression=None) as socket:
        socket.transport.pause_reading()
        await socket.send(json.dumps(say("much")))
        while not len(live.host.runs):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await asyncio.wait_for(idle(live), 60)
        socket.transport.abort()


async def test_a_second_conversation_waits_for_the_first(live: Served) -> None:
    await make(live)
    async with talk(live) as first:
        await first.send(json.dumps(say("one")))
        assert await hear(first) == "You said one"
        async with talk(live) as second:
            await second.send(json.dumps(say("two")))
            await first.send(json.dumps(CLOSE))
            assert await hear(second) == "You said two"


async def test_a_client_that_floods_is_not_read_and_then_let_go(
    settings: ServerSettings, folder: Path
) -> None:
    settings = replace(settings, agents=folder, grace=0.0, write_timeout=0.2, live_backlog=2)
    async with listening(settings) as live:
        await make(live)
        async with talk(live) as first:
            await first.send(json.dumps(say("one")))
            assert await hear(first) == "You said one"
            async with talk(live) as second:
                for number in range(20):  # it waits for the first, and takes none of them
                    await second.send(json.dumps(say(str(number))))
                code, reason = await ended(second)
            assert (code, reason.partition(":")[0]) == (1013, "Backlog")
            await first.send(json.dumps(say("two")))
            assert await hear(first) == "You said two"


async def test_frames_beyond_the_bound_wait_and_are_answered(
    settings: ServerSettings, folder: Path
) -> None:
    async with listening(replace(settings, agents=folder, grace=0.0, live_backlog=1)) as live:
        await make(live)
        async with talk(live) as socket:
            for number in range(20):
                await socket.send(json.dumps(say(str(number))))
            heard = [await hear(socket) for _ in range(20)]
    assert heard == [f"You said {number}" for number in range(20)]


def offer(token: str) -> list[Any]:
    told = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    return ["ostinato-live", f"ostinato-token.{told}"]


async def test_a_browser_offers_the_token_as_a_subprotocol(
    settings: ServerSettings, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = replace(settings, agents=folder, grace=0.0, token="the-right/one?~", write_timeout=5)
    async with listening(settings) as live:
        live.client.headers["authorization"] = "Bearer the-right/one?~"
        await make(live)
        async with talk(live, subprotocols=offer("the-right/one?~")) as socket:
            assert socket.subprotocol == "ostinato-live"
            await socket.send(json.dumps(say("hi")))
            assert await hear(socket) == "You said hi"
        bad: list[list[Any]] = [offer("wrong"), offer(""), ["ostinato-token.!"], ["ostinato-live"]]
        for offered in bad:
            with pytest.raises(InvalidStatus) as refused:
                async with talk(live, subprotocols=offered):
                    pass
            assert refused.value.response.status_code == 403
    assert "the-right" not in caplog.text and offer("the-right/one?~")[1] not in caplog.text


async def test_cancel_ends_a_conversation(live: Served) -> None:
    await make(live)
    async with talk(live) as socket:
        await socket.send(json.dumps(say("hi")))
        await hear(socket)
        assert (await live.ask("POST", f"{SESSION}/cancel")).json() == {"cancelled": True}
        code, reason = await ended(socket)
    assert code == 1008
    assert reason.startswith("RunCancelledError: ")


@pytest.mark.parametrize("how", ["cancels itself", "stops"])
async def test_code_that_ends_its_task_ends_the_conversation_with_an_error(
    live: Served, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    class Stop(BaseException):
        pass

    async def run_live(self: Runner, **request: Any) -> AsyncGenerator[Any, None]:
        task = asyncio.current_task()
        if how == "stops" or task is None:
            raise Stop("canary")
        task.cancel()
        await asyncio.sleep(0)
        yield

    monkeypatch.setattr(Runner, "run_live", run_live)
    await make(live)
    async with talk(live) as socket:
        code, reason = await ended(socket)
    assert code == 1011
    assert reason.startswith("ToolAbortedError: " if how == "cancels itself" else "Stop: ")
    assert "canary" not in reason


async def test_a_server_that_ends_says_so_and_takes_no_conversation(live: Served) -> None:
    await make(live)
    async with talk(live) as socket:
        await socket.send(json.dumps(say("hi")))
        await hear(socket)
        await live.host.drain()
        assert await ended(socket) == (1001, "Draining: this server is shutting down.")
    async with talk(live) as socket:
        code, reason = await ended(socket)
    assert code == 1013
    assert reason.startswith("Draining: ")
    assert [event["author"] for event in await log(live)][:2] == ["user", "speaker"]


async def test_what_is_not_offered_is_refused(live: Served) -> None:
    await make(live)
    with pytest.raises(InvalidStatus) as refused:
        async with talk(live, f"{PLACE}&explicit_vad_signal=true"):
            raise AssertionError
    assert refused.value.response.status_code == 403


async def test_a_frame_that_is_too_large_is_refused(live: Served) -> None:
    await make(live)
    async with talk(live) as socket:
        await socket.send(json.dumps(say("x" * (live.host.settings.max_upload + 1))))
        assert (await ended(socket))[0] == 1009
    await idle(live)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"origin": "http://evil.example"}, 1008),
        ({"host": "evil.example"}, 1008),
        ({"authorization": "Bearer wrong"}, 1008),
    ],
)
async def test_the_guard_closes_before_anything_is_accepted(
    serve: Serve, headers: dict[str, str], code: int
) -> None:
    async with serve(token="right") as served:
        asked = {"host": "127.0.0.1", "authorization": "Bearer right", **headers}
        scope = {
            "type": "websocket",
            "path": "/run_live",
            "raw_path": b"/run_live",
            "query_string": PLACE.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in asked.items()],
            "client": ("127.0.0.1", 1),
            "subprotocols": [],
        }
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        transport: Any = served.client._transport
        await transport.app(scope, receive, send)
        assert [(one["type"], one["code"]) for one in sent] == [("websocket.close", code)]


async def test_an_id_in_a_frame_is_bounded(live: Served) -> None:
    await make(live)
    answer = {"functionResponse": {"id": "x" * 5_000, "name": "n", "response": {}}}
    async with talk(live) as socket:
        await socket.send(json.dumps({"content": {"role": "user", "parts": [answer]}}))
        code, reason = await ended(socket)
    assert (code, reason.partition(":")[0]) == (1007, "InputValidationError")

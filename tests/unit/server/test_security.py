"""Who may call: hosts, origins, the token, limits; and what never leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ostinato.errors import ToolAbortedError
from ostinato.hosting.setup_error import SetupError
from ostinato.server.checks import check_settings
from ostinato.server.problems import problem_of, public_text
from ostinato.server.security import RateLimiter
from ostinato.server.settings import ServerSettings
from tests.unit.server.conftest import Serve, Served

BASE = "/apps/desk/users/ann/sessions"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:1", "127.0.0.1.evil.example", ""])
async def test_another_host_name_is_refused(served: Served, host: str) -> None:
    answer = await served.client.get("/list-apps", headers={"Host": host})
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "HostNotAllowed")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8000"])
async def test_this_machine_s_own_names_may_call(served: Served, host: str) -> None:
    assert (await served.client.get("/list-apps", headers={"Host": host})).is_success


async def test_a_page_from_elsewhere_may_not_write(served: Served) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9999"):
        answer = await served.client.post(BASE, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["error"]["type"]) == (403, "OriginNotAllowed")
        assert "access-control-allow-origin" not in answer.headers
    same = await served.client.post(BASE, headers={"Origin": "http://127.0.0.1:8000"})
    assert same.is_success


async def test_an_allowed_origin_may(serve: Serve) -> None:
    page = "https://page.example"
    async with serve(allow_origins=(page, r"regex:https://.*\.mine\.example")) as served:
        for origin in (page, "https://a.mine.example"):
            answer = await served.client.post(BASE, headers={"Origin": origin})
            assert answer.is_success
            assert answer.headers["access-control-allow-origin"] == origin
        asked = {"Origin": page, "Access-Control-Request-Method": "POST"}
        assert (await served.client.options("/run", headers=asked)).status_code == 204
        answer = await served.client.post(BASE, headers={"Origin": "https://page.example.evil"})
        assert answer.status_code == 403


async def test_the_token_is_asked_for(serve: Serve) -> None:
    async with serve(token="letmein", host="0.0.0.0") as served:
        for value in (
            None,
            "Bearer wrong",
            "letmein",
            "Bearer",
            "Basic letmein",
            "Bearer letmein2",
        ):
            headers = {} if value is None else {"Authorization": value}
            answer = await served.client.get("/list-apps", headers=headers)
            assert (answer.status_code, answer.json()["error"]["type"]) == (401, "Unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "letmein" not in answer.text
        headers = {"Authorization": "Bearer letmein"}
        assert (await served.client.get("/list-apps", headers=headers)).is_success
        assert (await served.client.get("/health")).is_success
        assert (await served.client.get("/health/ready")).is_success


def test_bound_to_others_a_token_is_needed(settings: ServerSettings) -> None:
    with pytest.raises(SetupError, match="set a token"):
        check_settings(replace(settings, host="0.0.0.0"))
    check_settings(replace(settings, host="0.0.0.0", token="t"))
    check_settings(replace(settings, host="::1"))


async def test_a_large_body_is_refused_before_it_is_read(serve: Serve) -> None:
    async with serve(max_body=1000, max_upload=5000) as served:
        body = {"state": {"x": "y" * 2000}}
        assert (await served.ask("POST", BASE, body)).status_code == 413

        async def drops() -> object:
            for _ in range(100):
                yield b" " * 100

        headers = {"content-type": "application/json"}
        answer = await served.client.post(BASE, content=drops(), headers=headers)  # type: ignore[arg-type]
        assert answer.status_code == 413
        await served.ask("POST", BASE, {"sessionId": "s"})
        part = {"filename": "f", "artifact": {"text": "y" * 2000}}
        assert (await served.ask("POST", f"{BASE}/s/artifacts", part)).is_success


def _limited_bodies(count: int) -> dict[str, tuple[str, object]]:
    """Return a path and a body for each protocol, with a number of messages and parts."""
    parts = [{"text": "x"}] * count
    texts = [{"type": "text", "text": "x"}] * (count - 1)
    run = {"appName": "desk", "userId": "ann", "sessionId": "s"}
    said = {"messageId": "m", "role": "ROLE_USER", "parts": parts}
    chat = {"role": "user", "content": texts}
    return {
        "run": ("/run", {**run, "newMessage": {"role": "user", "parts": parts}}),
        "run_sse": ("/run_sse", {**run, "new_message": {"parts": parts}}),
        "chat": ("/v1/chat/completions", {"model": "desk", "messages": [chat]}),
        "responses": ("/v1/responses", {"model": "desk", "input": [chat]}),
        "AG-UI": (
            "/apps/desk/agui",
            {"threadId": "t", "runId": "r", "messages": [{"id": "m", **chat}], "state": {}},
        ),
        "A2A": (
            "/a2a/desk",
            {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": said}},
        ),
        "A2A over REST": ("/a2a/desk/message:send", {"message": said}),
    }


@pytest.mark.parametrize("name", list(_limited_bodies(1)))
async def test_a_message_with_too_many_parts_is_refused_with_the_limit(
    serve: Serve, name: str
) -> None:
    status = 400 if name in ("chat", "responses") else 422  # OpenAI's API answers 400
    async with serve(max_parts=3) as served:
        await served.ask("POST", "/apps/desk/users/ann/sessions", {"sessionId": "s"})
        for count, refused in ((3, False), (4, True)):
            path, body = _limited_bodies(count)[name]
            answer = await served.ask("POST", path, body, headers={"A2A-Version": "1.0"})
            assert ("at most 3 messages and parts" in answer.text) is refused, answer.text
            assert answer.status_code == (status if refused else 200), answer.text


async def test_too_many_requests_are_told_when_to_come_again(serve: Serve) -> None:
    async with serve(rate_limit=3) as served:
        answers = [await served.client.get("/version") for _ in range(5)]
        assert [one.status_code for one in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1].headers["retry-after"]) >= 1


def test_addresses_are_counted_apart_and_forgotten() -> None:
    rate = RateLimiter(1)
    assert rate.count_request("a") == 0
    assert rate.count_request("a") > 0
    assert rate.count_request("b") == 0
    for number in range(10_001):
        rate.count_request(str(number))
    assert rate.count_request("a") == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no file /home/ann/agents/desk/agent.py here", "no file agent.py here"),
        ("key sk-proj-abcdefghijklmnop is wrong", "key [redacted] is wrong"),
        ("api_key=abcdef123456", "api_key=[redacted]"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: [redacted]"),
        ("postgresql://ann:pass@db/x", "postgresql://[redacted]@db/x"),
        ("see https://example.com/a/b and 3/4", "see https://example.com/a/b and 3/4"),
    ],
)
def test_paths_and_keys_are_taken_out(text: str, shown: str) -> None:
    assert public_text(text) == shown


async def test_nothing_secret_leaves_with_an_error(serve: Serve, tmp_path: Path) -> None:
    app = tmp_path / "agents" / "leaky"
    app.mkdir(parents=True)
    secret = "sk-canary-0123456789"
    app.joinpath("agent.py").write_text(
        "from ostinato.agents import Agent\n"
        "from ostinato.testing import FunctionModel\n"
        "def model(request):\n"
        f"    raise OSError('cannot open {tmp_path}/private/file.txt with {secret}')\n"
        "root_agent = Agent(name='root', model=FunctionModel(model))\n"
    )
    sessions = "/apps/leaky/users/ann/sessions"
    async with serve(agents=app.parent) as served:
        await served.ask("POST", sessions, {"sessionId": "s"})
        message = {"role": "user", "parts": [{"text": "hi"}]}
        body = {"appName": "leaky", "userId": "ann", "sessionId": "s", "newMessage": message}
        answers = [
            await served.ask("POST", "/run", body),
            await served.ask("POST", "/run_sse", body),
            await served.ask("GET", f"{sessions}/s"),
            await served.ask("GET", f"{sessions}/s/events"),
            await served.ask("GET", f"{sessions}/s/events/stream?until=idle"),
        ]
    assert answers[0].status_code == 500
    assert answers[0].json()["error"]["type"] == "OSError"
    assert json.loads(answers[1].text.split("data: ")[-1].split("\n")[0])["error_details"]
    for answer in answers:
        assert secret not in answer.text and str(tmp_path) not in answer.text, answer.text


@pytest.mark.parametrize(
    ("quoted", "message", "shown"),
    [
        ("x", "An exit of the box: x.", "An exit of the box: BaseException."),
        ("canary row", "It failed: canary row.", "It failed: BaseException."),
        ("c" * 4_100, f"It failed: {'c' * 4_100}!", "It failed: BaseException!"),
    ],
)
def test_a_quoted_error_is_replaced_and_no_other_word(
    quoted: str, message: str, shown: str
) -> None:
    error = ToolAbortedError(message)
    error.__cause__ = BaseException(quoted)
    assert problem_of(error).message == shown

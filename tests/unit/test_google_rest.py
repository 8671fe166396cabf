"""GoogleRestClient: logins, answers that cannot be used, and what may be sent again."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import google.auth
import httpx2
import pytest
from google.auth.credentials import Credentials as AnyLogin
from google.auth.exceptions import DefaultCredentialsError
from google.oauth2.credentials import Credentials

from ostinato import _google_rest as rest_client
from ostinato._google_rest import GoogleApiError, GoogleRestClient
from tests.support.dripping_server import HALF_HEADERS, HEADERS, drip_forever

URL = "https://service.googleapis.com/v1/things"
Respond = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Respond], list[httpx2.Request]]:
    client = httpx2.Client
    monkeypatch.setattr(rest_client, "pause", lambda seconds: None)

    def start(respond: Respond) -> list[httpx2.Request]:
        requests: list[httpx2.Request] = []

        def note(request: httpx2.Request) -> httpx2.Response:
            requests.append(request)
            return respond(request)

        transport = httpx2.MockTransport(note)
        monkeypatch.setattr(httpx2, "Client", lambda **_: client(transport=transport))
        return requests

    return start


def send(login: Any = None, **more: Any) -> Any:
    login = login or Credentials(token="t-1", quota_project_id="payer")
    with GoogleRestClient("Things", credentials=login, user_agent="me") as client:
        return client.send_request("POST", URL, **more)


def test_a_request_carries_login_project_and_json(serve: Any) -> None:
    requests = serve(lambda request: httpx2.Response(200, json={"a": 1}))
    assert send(params={"q": "x y", "none": None}, body={"b": 2}) == {"a": 1}
    (request,) = requests
    assert str(request.url) == f"{URL}?q=x+y" or str(request.url) == f"{URL}?q=x%20y"
    assert request.headers["authorization"] == "Bearer t-1"
    assert request.headers["x-goog-user-project"] == "payer"
    assert request.headers["user-agent"] == "me"
    assert request.headers["content-type"] == "application/json"
    assert request.content == b'{"b": 2}'


def test_an_empty_answer_is_an_empty_dict(serve: Any) -> None:
    serve(lambda request: httpx2.Response(200))
    assert send() == {}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (httpx2.Response(200, text="<html>"), "not JSON. A proxy"),
        (httpx2.Response(200, text="[" * 100_000 + "]" * 100_000), "not JSON. A proxy"),
        (httpx2.Response(400, text="[" * 100_000 + "]" * 100_000), r"answered 400: \[\["),
        (httpx2.Response(302, headers={"location": "http://x"}), "answered 302"),
        (httpx2.Response(400, json={"error": {"message": "Bad q."}}), "answered 400: Bad q."),
        (httpx2.Response(400, json=[{"error": {"message": "Bad."}}]), "answered 400: Bad."),
        (httpx2.Response(400, text="plain"), "answered 400: plain"),
        (httpx2.Response(400), "answered 400: it gives no reason."),
    ],
)
def test_an_answer_that_cannot_be_used_is_an_error(
    answer: httpx2.Response, problem: str, serve: Any
) -> None:
    requests = serve(lambda request: answer)
    with pytest.raises(GoogleApiError, match=problem):
        send()
    assert len(requests) == 1


def test_an_answer_is_bounded(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_client, "_MOST_BYTES", 10)
    serve(lambda request: httpx2.Response(200, text='"01234567890"'))
    with pytest.raises(GoogleApiError, match="more than 10 bytes"):
        send()


@pytest.mark.parametrize(("repeatable", "count"), [(True, 4), (False, 1)])
def test_only_what_is_repeatable_is_sent_again(repeatable: bool, count: int, serve: Any) -> None:
    requests = serve(lambda request: httpx2.Response(503))
    with pytest.raises(GoogleApiError) as caught:
        send(repeatable=repeatable)
    assert caught.value.status == 503 and len(requests) == count

    def break_off(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadError("broken")

    requests = serve(break_off)
    with pytest.raises(GoogleApiError, match=r"cannot be reached \(ReadError\)"):
        send(repeatable=repeatable)
    assert len(requests) == count


def test_what_was_not_sent_is_always_sent_again(serve: Any) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    requests = serve(refuse)
    with pytest.raises(GoogleApiError, match="Check the network"):
        send(repeatable=False)
    assert len(requests) == 4


def test_a_login_is_refreshed_before_the_request(serve: Any) -> None:
    class Stale(AnyLogin):
        def refresh(self, request: Any) -> None:
            self.token = "fresh"

    requests = serve(lambda request: httpx2.Response(200))
    send(Stale())
    assert requests[0].headers["authorization"] == "Bearer fresh"


def test_a_machine_without_a_login_says_what_to_do(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_none(**_: Any) -> Any:
        raise DefaultCredentialsError("none")

    monkeypatch.setattr(google.auth, "default", find_none)
    requests = serve(lambda request: httpx2.Response(200))
    with GoogleRestClient("Things") as client, pytest.raises(GoogleApiError, match="gcloud auth"):
        client.send_request("GET", URL)
    assert requests == []


class Racing(AnyLogin):
    """A login that another thread which refreshes it leaves without a token."""

    def __init__(self, threads: int) -> None:
        super().__init__()
        self.together = threading.Barrier(threads)

    def refresh(self, request: Any) -> None:
        with suppress(threading.BrokenBarrierError):
            self.together.wait(0.2)
            raise AssertionError("two threads refresh the login at once")
        self.token = "fresh"


def test_threads_take_turns_to_log_in(serve: Any) -> None:
    requests = serve(lambda request: httpx2.Response(200))
    with (
        GoogleRestClient("Things", credentials=Racing(2)) as client,
        ThreadPoolExecutor(2) as threads,
    ):
        for done in [threads.submit(client.send_request, "GET", URL) for _ in range(2)]:
            assert done.result() == {}
    assert [one.headers["authorization"] for one in requests] == ["Bearer fresh"] * 2


@pytest.mark.parametrize("first", [HEADERS, HALF_HEADERS])
def test_an_answer_that_comes_by_bytes_has_a_time_limit(first: bytes) -> None:
    login = Credentials(token="t-1")
    with (
        drip_forever(first) as url,
        GoogleRestClient("Things", credentials=login, timeout_seconds=0.05) as client,
        pytest.raises(GoogleApiError, match=r"Things did not answer within 0\.05 s"),
    ):
        client.send_request("GET", url)


KEY = "AIzaSy" + "A1" * 16 + "b"  # as long as Google's


@pytest.mark.parametrize("secret", [KEY, "password=hunter22", "ya29.a0Af-other", "t-1-token"])
@pytest.mark.parametrize("padding", [0, 1_990])
def test_no_error_holds_a_secret_that_the_server_repeats(
    secret: str, padding: int, serve: Any
) -> None:
    told = {"error": {"message": f"{'x ' * (padding // 2)}no {secret} here"}}
    serve(lambda request: httpx2.Response(400, json=told))
    with pytest.raises(GoogleApiError) as caught:
        send(Credentials(token="t-1-token"))
    hidden = secret.partition("=")[2] or secret
    assert hidden[:7] not in str(caught.value) and len(str(caught.value)) < 2_100

"""Fetching discovery documents: addresses, bounds, what is kept, and what is refused."""

from collections.abc import Callable, Generator
from typing import Any

import httpx2
import pytest

from ostinato._google_rest import GoogleApiError
from ostinato.errors import AgentConfigError
from ostinato.tools.google_api_tool import discovery_document
from ostinato.tools.google_api_tool.discovery_document import fetch_document
from tests.unit.tools.google_api.documents import CALENDAR

FIRST = "https://www.googleapis.com/discovery/v1/apis/calendar/v3/rest"
SECOND = "https://calendar.googleapis.com/$discovery/rest?version=v3"
Serve = Callable[[Callable[[httpx2.Request], httpx2.Response]], list[str]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Generator[Serve]:
    """Answers requests; the list that it returns fills with their addresses."""

    def start(respond: Callable[[httpx2.Request], httpx2.Response]) -> list[str]:
        urls: list[str] = []

        def note(request: httpx2.Request) -> httpx2.Response:
            urls.append(str(request.url))
            return respond(request)

        def stream(method: str, url: str, **options: Any) -> Any:
            assert options["timeout"] > 0
            return httpx2.Client(transport=httpx2.MockTransport(note)).stream(method, url)

        monkeypatch.setattr(httpx2, "stream", stream)
        return urls

    fetch_document.cache_clear()
    yield start
    fetch_document.cache_clear()


def test_a_document_is_fetched_once(serve: Serve) -> None:
    urls = serve(lambda request: httpx2.Response(200, json=CALENDAR))
    assert fetch_document("calendar", "v3") == fetch_document("calendar", "v3") == CALENDAR
    assert urls == [FIRST]


def test_newer_apis_are_found_at_their_own_address(serve: Serve) -> None:
    urls = serve(
        lambda request: (
            httpx2.Response(404)
            if request.url.host == "www.googleapis.com"
            else httpx2.Response(200, json=CALENDAR)
        )
    )
    assert fetch_document("calendar", "v3") == CALENDAR
    assert urls == [FIRST, SECOND]


def test_another_address_has_the_names_filled_in(serve: Serve) -> None:
    urls = serve(lambda request: httpx2.Response(200, json=CALENDAR))
    fetch_document("calendar", "v3", "https://mirror.example/{api}/{apiVersion}.json")
    assert urls == ["https://mirror.example/calendar/v3.json"]


def test_an_unknown_api_is_the_developers_error(serve: Serve) -> None:
    serve(lambda request: httpx2.Response(404))
    with pytest.raises(AgentConfigError, match="no discovery document of the API 'calendars'"):
        fetch_document("calendars", "v3")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (httpx2.Response(500), "answered with 500"),
        (httpx2.Response(302, headers={"location": "http://x"}), "answered with 302"),
    ],
)
def test_a_failure_of_the_service_is_not_kept(
    answer: httpx2.Response, problem: str, serve: Serve
) -> None:
    serve(lambda request: answer)
    with pytest.raises(GoogleApiError, match=problem):
        fetch_document("calendar", "v3")
    serve(lambda request: httpx2.Response(200, json=CALENDAR))
    assert fetch_document("calendar", "v3") == CALENDAR


def test_an_unreachable_service_is_named(serve: Serve) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    serve(refuse)
    with pytest.raises(GoogleApiError, match=r"calendar v3 cannot be fetched \(ConnectError\)"):
        fetch_document("calendar", "v3")


def test_an_answer_is_bounded_and_checked(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(lambda request: httpx2.Response(200, text="<html>"))
    with pytest.raises(AgentConfigError, match="is not a discovery document"):
        fetch_document("calendar", "v3")
    monkeypatch.setattr(discovery_document, "_MOST_BYTES", 100)
    serve(lambda request: httpx2.Response(200, json=CALENDAR))
    with pytest.raises(GoogleApiError, match="more than 100 bytes"):
        fetch_document("calendar", "v3")


def test_an_address_without_encryption_is_refused(serve: Serve) -> None:
    urls = serve(lambda request: httpx2.Response(200, json=CALENDAR))
    with pytest.raises(AgentConfigError, match="not an https address"):
        fetch_document("calendar", "v3", "http://mirror.example/{api}")
    assert urls == []
    assert fetch_document("calendar", "v3", "http://127.0.0.1/x") == CALENDAR

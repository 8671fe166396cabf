"""search_catalog and ask_data_insights: what they ask Dataplex and the data analytics agent."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from google.oauth2.credentials import Credentials

from ostinato.tools.bigquery.config import BigQueryToolConfig
from ostinato.tools.bigquery.data_insights_tool import ask_data_insights
from ostinato.tools.bigquery.search_tool import search_catalog

LOGIN = Credentials(token="t-1")
Serve = Callable[[int, Any], list[httpx2.Request]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Answers each request alike; the list that it returns fills with the requests."""
    client = httpx2.Client

    def start(status: int, answer: Any) -> list[httpx2.Request]:
        requests: list[httpx2.Request] = []

        def respond(request: httpx2.Request) -> httpx2.Response:
            requests.append(request)
            return httpx2.Response(status, json=answer)

        transport = httpx2.MockTransport(respond)
        monkeypatch.setattr(httpx2, "Client", lambda **_: client(transport=transport))
        return requests

    return start


def search(**more: Any) -> dict[str, Any]:
    args = {"prompt": "customers", "project_id": "p", **more}
    return search_catalog(**args, credentials=LOGIN, settings=BigQueryToolConfig())


def test_the_catalog_is_searched_by_meaning(serve: Serve) -> None:
    entry = {
        "name": "projects/p/e",
        "entryType": "bigquery-table",
        "updateTime": "2024-01-01T12:00:00Z",
        "entrySource": {"displayName": "c", "resource": "//b", "location": "us"},
    }
    requests = serve(200, {"results": [{"dataplexEntry": entry}]})
    found = search(
        location="eu",
        page_size=3,
        dataset_ids_filter=["d", "e"],
        types_filter=["TABLE"],
    )
    assert found == {
        "status": "SUCCESS",
        "results": [
            {
                "name": "projects/p/e",
                "display_name": "c",
                "entry_type": "bigquery-table",
                "update_time": "2024-01-01 12:00:00+00:00",
                "linked_resource": "//b",
                "description": "",
                "location": "us",
            }
        ],
    }
    url = requests[0].url
    assert url.path == "/v1/projects/p/locations/eu:searchEntries"
    assert dict(url.params) == {
        "query": '(customers) AND projectid="p" AND '
        '(linked_resource:"//bigquery.googleapis.com/projects/p/datasets/d/*" OR '
        'linked_resource:"//bigquery.googleapis.com/projects/p/datasets/e/*") AND '
        'type="TABLE" AND system=BIGQUERY',
        "pageSize": "3",
        "semanticSearch": "true",
    }
    assert requests[0].headers["authorization"] == "Bearer t-1"


def test_a_search_cannot_leave_its_quotes(serve: Serve) -> None:
    requests = serve(200, {})
    assert search(project_ids_filter=['a" OR system=X', "b"]) == {
        "status": "SUCCESS",
        "results": [],
    }
    query = requests[0].url.params["query"]
    assert r'(projectid="a\" OR system=X" OR projectid="b")' in query


def test_a_failed_search_is_reported(serve: Serve) -> None:
    serve(403, {"error": {"message": "The API is off."}})
    assert search() == {
        "status": "ERROR",
        "error_details": "Dataplex API Error: Dataplex answered 403: The API is off.",
    }
    assert search(project_id="")["error_details"] == "project_id must be provided."


def ask(max_rows: int = 50) -> dict[str, Any]:
    tables = [{"projectId": "p", "datasetId": "d", "tableId": "t"}]
    settings = BigQueryToolConfig(max_query_result_rows=max_rows)
    return ask_data_insights("p", "Who?", tables, LOGIN, settings)


def data_step(count: int) -> dict[str, Any]:
    rows = [{"n": n} for n in range(count)]
    result = {"data": rows, "schema": {"fields": [{"name": "n"}]}}
    return {"systemMessage": {"data": {"result": result}}}


def test_steps_are_returned_with_the_last_data_only(serve: Serve) -> None:
    text = {"text": {"parts": ["Six."]}}
    requests = serve(200, [data_step(1), {"systemMessage": text}, data_step(3), {"other": 1}])
    assert ask(max_rows=2) == {
        "status": "SUCCESS",
        "response": [
            {"Data Retrieved": "Intermediate result omitted"},
            text,
            {
                "Data Retrieved": {
                    "headers": ["n"],
                    "rows": [[0], [1]],
                    "summary": "Showing the first 2 of 3 total rows.",
                }
            },
            {"other": 1},
        ],
    }
    assert requests[0].url.path == "/v1beta/projects/p/locations/global:chat"
    body = json.loads(requests[0].content)
    assert body["messages"] == [{"userMessage": {"text": "Who?"}}]
    assert (
        body["inlineContext"]["datasourceReferences"]["bq"]["tableReferences"][0]["tableId"] == "t"
    )


@pytest.mark.parametrize("result", [{"data": [{"a": 1}]}, {"data": [{"a": 1}], "schema": None}])
def test_data_without_a_schema_names_its_columns(serve: Serve, result: dict[str, Any]) -> None:
    serve(200, [{"systemMessage": {"data": {"result": result}}}])
    shown = ask()["response"][0]["Data Retrieved"]
    assert shown == {"headers": ["a"], "rows": [[1]], "summary": "Showing all 1 rows."}


def test_a_question_is_asked_once(serve: Serve) -> None:
    requests = serve(503, {})
    assert ask()["status"] == "ERROR" and len(requests) == 1


def test_a_failed_question_is_reported(serve: Serve) -> None:
    serve(400, [{"error": {"message": "No such table."}}])
    found = ask()
    assert found["error_details"] == "Gemini Data Analytics answered 400: No such table."

"""Tools that describe datasets, tables and jobs: what they ask and what the model is given."""

from typing import Any

import pytest

from ostinato import _google_rest as rest_client
from ostinato.tools.bigquery import BigQueryToolset
from tests.support.fake_bigquery import FakeBigQuery
from tests.support.optionals import present
from tests.unit.tools.bigquery.conftest import CallTool

NAMES = [
    "get_dataset_info",
    "get_table_info",
    "list_dataset_ids",
    "list_table_ids",
    "get_job_info",
    "execute_sql",
    "forecast",
    "analyze_contribution",
    "detect_anomalies",
    "ask_data_insights",
    "search_catalog",
]


async def test_the_toolset_has_the_tools_of_google_adk_in_order() -> None:
    assert [tool.name for tool in await BigQueryToolset().get_tools()] == NAMES


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (["execute_sql", "nope"], ["execute_sql"]),
        (lambda tool, context=None: tool.name.startswith("list"), NAMES[2:4]),
        ([], []),
    ],
)
async def test_a_filter_chooses_tools(chosen: Any, names: list[str]) -> None:
    tools = await BigQueryToolset(tool_filter=chosen).get_tools()
    assert [tool.name for tool in tools] == names


async def test_the_model_sees_neither_credentials_nor_settings_nor_context() -> None:
    for tool in await BigQueryToolset().get_tools():
        declaration = tool._get_declaration()
        assert declaration is not None and declaration.description
        schema = present(declaration.parameters_json_schema)
        assert not {"credentials", "settings", "tool_context"} & set(schema["properties"])
        assert "project_id" in schema["required"]
        assert set(schema["required"]) <= set(schema["properties"])


async def test_ids_of_all_pages_are_listed(bigquery: FakeBigQuery, call_tool: CallTool) -> None:
    bigquery.pages = 1
    assert await call_tool("list_dataset_ids", {"project_id": "p"}) == ["sales", "web"]
    tables = await call_tool("list_table_ids", {"project_id": "p", "dataset_id": "sales"})
    assert tables == ["orders", "items"]
    assert set(bigquery.tokens) == {"token-1"}


async def test_a_server_that_repeats_a_page_ends_the_list(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    page = {"datasets": [{"datasetReference": {"datasetId": "d"}}], "nextPageToken": "same"}
    bigquery.failures = [(200, page)] * 100
    assert await call_tool("list_dataset_ids", {"project_id": "p"}) == ["d", "d"]


async def test_datasets_tables_and_jobs_are_described(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    place = {"project_id": "p", "dataset_id": "sales"}
    dataset = await call_tool("get_dataset_info", place)
    assert dataset == {"id": "p:sales", "location": "EU"}
    table = await call_tool("get_table_info", {**place, "table_id": "orders"})
    assert table["id"] == "p:sales.orders"
    bigquery.jobs["j-1"] = {"status": {"state": "DONE"}}
    job = await call_tool("get_job_info", {"project_id": "p", "job_id": "j-1"}, location="EU")
    assert job == {"status": {"state": "DONE"}}
    assert bigquery.requests[-1][2] == {"location": "EU"}


async def test_a_refusal_is_reported_to_the_model(call_tool: CallTool) -> None:
    found = await call_tool("get_dataset_info", {"project_id": "p", "dataset_id": "none"})
    assert found == {
        "status": "ERROR",
        "error_details": "BigQuery answered 404: Not found: none",
    }


@pytest.mark.parametrize("dataset", ["", "..", "../../other", "a/b"])
async def test_an_id_leads_to_no_other_resource(
    dataset: str, bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    found = await call_tool("get_dataset_info", {"project_id": "p", "dataset_id": dataset})
    assert found["status"] == "ERROR"
    assert all(len(path.split("/")) == 7 for _, path, _, _ in bigquery.requests)


async def test_what_passes_by_itself_is_asked_again(
    bigquery: FakeBigQuery, call_tool: CallTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(rest_client, "pause", waits.append)
    bigquery.failures = [(503, {}), (429, {})]
    assert await call_tool("list_dataset_ids", {"project_id": "p"}) == ["sales", "web"]
    assert waits == [0.5, 1.0]
    bigquery.failures = [(503, {"error": {"message": "Overloaded."}})] * 9
    found = await call_tool("list_dataset_ids", {"project_id": "p"})
    assert found["error_details"] == "BigQuery answered 503: Overloaded."
    assert len(bigquery.failures) == 5


async def test_the_application_is_named_in_the_user_agent(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    await call_tool("list_dataset_ids", {"project_id": "p"}, application_name="shop")
    assert bigquery.agents[0].startswith("adk-bigquery-tool ostinato/")
    assert bigquery.agents[0].endswith(" shop list_dataset_ids")


async def test_no_error_holds_the_token(bigquery: FakeBigQuery, call_tool: CallTool) -> None:
    bigquery.failures = [(401, {"error": {"message": "Invalid credentials: token-1"}})]
    found = await call_tool("list_dataset_ids", {"project_id": "p"})
    assert found["error_details"] == "BigQuery answered 401: Invalid credentials: [redacted]"

"""execute_sql: what may run in each write mode, and that it runs once."""

from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials

from ostinato import _google_rest as rest_client
from ostinato._google_rest import GoogleApiError
from ostinato.tools.bigquery.config import BigQueryToolConfig, WriteMode
from ostinato.tools.bigquery.query_tool import execute_sql, get_execute_sql
from tests.support.fake_bigquery import FakeBigQuery, row
from tests.unit.tools.bigquery.conftest import CallTool
from tests.unit.tools.contexts import make_context

SELECT = "SELECT name FROM sales.orders"
INSERT = "INSERT INTO sales.orders VALUES (1)"
WRITES = [
    INSERT,
    "DROP TABLE sales.orders",
    "CREATE TABLE web.copy AS SELECT 1",
    "SELECT 1; DROP TABLE sales.orders",
    "CALL sales.clean()",
    "CREATE MODEL sales.m AS SELECT 1",
]
TEMPORARY = [
    "CREATE TEMP TABLE t AS SELECT 1",
    "-- a note\n CREATE OR REPLACE TEMP MODEL m AS SELECT 1",
    "DROP TABLE t",
]


def ask(query: str, **more: Any) -> dict[str, Any]:
    return {"project_id": "p", "query": query, **more}


async def test_a_query_returns_its_rows(bigquery: FakeBigQuery, call_tool: CallTool) -> None:
    bigquery.result = ([{"name": "island", "type": "STRING"}], [row("Dream"), row("Biscoe")])
    assert await call_tool("execute_sql", ask(SELECT)) == {
        "status": "SUCCESS",
        "rows": [{"island": "Dream"}, {"island": "Biscoe"}],
    }
    assert bigquery.ran == [SELECT]


async def test_rows_beyond_the_limit_are_left_out(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    bigquery.result = ([{"name": "n", "type": "INTEGER"}], [row(str(n)) for n in range(9)])
    bigquery.pages = 2
    found = await call_tool("execute_sql", ask(SELECT), max_query_result_rows=5)
    assert found["rows"] == [{"n": n} for n in range(5)]
    assert found["result_is_likely_truncated"] is True


async def test_a_result_is_waited_for_with_pauses(
    bigquery: FakeBigQuery, call_tool: CallTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("ostinato.tools.bigquery.client._sleep", pauses.append)
    bigquery.unfinished = 3
    assert (await call_tool("execute_sql", ask(SELECT)))["status"] == "SUCCESS"
    assert len(pauses) == 3 and all(0 < one <= 10 for one in pauses)


async def test_a_query_that_never_ends_is_reported_with_its_job(
    bigquery: FakeBigQuery, call_tool: CallTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.tools.bigquery.client._MOST_WAITS", 3)
    monkeypatch.setattr("ostinato.tools.bigquery.client._sleep", lambda seconds: None)
    bigquery.unfinished = 3
    found = await call_tool("execute_sql", ask(SELECT))
    assert "get_job_info" in found["error_details"] and "adk_" in found["error_details"]


@pytest.mark.parametrize("query", [*WRITES, *TEMPORARY])
async def test_blocked_mode_runs_select_only(
    query: str, bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    assert await call_tool("execute_sql", ask(query)) == {
        "status": "ERROR",
        "error_details": "Read-only mode only supports SELECT statements.",
    }
    assert bigquery.ran == []


@pytest.mark.parametrize("query", WRITES)
async def test_protected_mode_writes_nothing_permanent(
    query: str, bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    found = await call_tool("execute_sql", ask(query), write_mode=WriteMode.PROTECTED)
    assert found["error_details"].startswith("Protected write mode only supports SELECT")
    assert bigquery.ran == []


@pytest.mark.parametrize("query", [SELECT, *TEMPORARY])
async def test_protected_mode_runs_in_one_session(
    query: str, bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    context = make_context()
    for _ in range(2):
        found = await call_tool(
            "execute_sql", ask(query), context=context, write_mode=WriteMode.PROTECTED
        )
        assert found["status"] == "SUCCESS"
    assert bigquery.sessions == 1 and bigquery.ran == [query, query]
    assert context.state["bigquery_session_info"] == ["session-1", "_anonymous"]
    started, *others = bigquery.bodies
    assert started["configuration"]["query"]["createSession"] is True
    for body in others:
        properties = body["configuration"]["query"]["connectionProperties"]
        assert properties == [{"key": "session_id", "value": "session-1"}]


@pytest.mark.parametrize(("name", "is_safe"), [("_SESSION", True), ("_other", False)])
async def test_a_temporary_table_is_known_by_the_sessions_names_only(
    name: str, is_safe: bool, bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    context = make_context(state={"bigquery_session_info": ["session-1", "_anonymous"]})
    bigquery.session_name = name
    found = await call_tool(
        "execute_sql", ask(TEMPORARY[0]), context=context, write_mode=WriteMode.PROTECTED
    )
    assert (found["status"] == "SUCCESS") is is_safe


async def test_every_target_of_a_statement_counts(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    context = make_context(state={"bigquery_session_info": ["session-1", "_anonymous"]})
    facts = {
        "configuration": {"query": {"destinationTable": {"datasetId": "_anonymous"}}},
        "statistics": {"query": {"statementType": "X", "ddlTargetTable": {"datasetId": "sales"}}},
    }
    bigquery.failures = [(200, facts)]
    found = await call_tool(
        "execute_sql", ask(TEMPORARY[0]), context=context, write_mode=WriteMode.PROTECTED
    )
    assert found["status"] == "ERROR" and bigquery.ran == []


@pytest.mark.parametrize("query", [SELECT, *WRITES, *TEMPORARY])
async def test_allowed_mode_runs_everything(
    query: str, bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    found = await call_tool("execute_sql", ask(query), write_mode=WriteMode.ALLOWED)
    assert found["status"] == "SUCCESS" and bigquery.ran == [query]


@pytest.mark.parametrize("mode", WriteMode)
async def test_a_dry_run_runs_nothing(
    mode: WriteMode, bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    found = await call_tool("execute_sql", ask(SELECT, dry_run=True), write_mode=mode)
    assert found["status"] == "SUCCESS"
    assert found["dry_run_info"]["configuration"]["dryRun"] is True
    assert found["dry_run_info"]["statistics"]["totalBytesProcessed"] == "77"
    assert bigquery.ran == []


async def test_queries_stay_in_the_project_of_the_settings(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    found = await call_tool("execute_sql", ask(SELECT), compute_project_id="other")
    assert "restricted to execute queries only in the project other" in found["error_details"]
    assert bigquery.requests == []


async def test_limits_labels_and_location_reach_the_job(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    await call_tool(
        "execute_sql",
        ask(SELECT),
        maximum_bytes_billed=20_000_000,
        job_labels={"team": "a"},
        application_name="shop",
        location="EU",
    )
    job = bigquery.bodies[-1]
    assert job["configuration"]["query"]["maximumBytesBilled"] == "20000000"
    assert job["configuration"]["query"]["useLegacySql"] is False
    assert job["configuration"]["labels"] == {
        "team": "a",
        "adk-bigquery-tool": "execute_sql",
        "adk-bigquery-application-name": "shop",
    }
    assert job["jobReference"]["location"] == "EU"


async def test_a_call_that_is_run_again_takes_effect_once(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    for _ in range(2):  # a context of its own each time, as after a crash
        found = await call_tool(
            "execute_sql", ask(INSERT), context=make_context(), write_mode=WriteMode.ALLOWED
        )
        assert found == {"status": "SUCCESS", "rows": []}
    assert bigquery.ran == [INSERT]


async def test_a_broken_connection_repeats_no_effect(
    bigquery: FakeBigQuery, call_tool: CallTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_client, "pause", lambda seconds: None)
    bigquery.breaks_after_insert = True
    found = await call_tool("execute_sql", ask(INSERT), write_mode=WriteMode.ALLOWED)
    assert found == {"status": "SUCCESS", "rows": []} and bigquery.ran == [INSERT]


def test_a_program_may_run_one_statement_twice_in_a_call(bigquery: FakeBigQuery) -> None:
    settings, context = BigQueryToolConfig(write_mode=WriteMode.ALLOWED), make_context()
    login = AnonymousCredentials()
    for _ in range(2):
        execute_sql("p", INSERT, login, settings, context)
    execute_sql("p", INSERT, login, settings, None)  # type: ignore[arg-type]
    assert bigquery.ran == [INSERT] * 3


async def test_a_failed_job_is_reported(bigquery: FakeBigQuery, call_tool: CallTool) -> None:
    failed = {"status": {"state": "DONE", "errorResult": {"message": "Division by zero"}}}
    bigquery.failures = [(200, {"jobReference": {"jobId": "j"}, **failed})]
    found = await call_tool("execute_sql", ask(INSERT), write_mode=WriteMode.ALLOWED)
    assert found == {"status": "ERROR", "error_details": "The query failed: Division by zero"}


async def test_a_service_without_sessions_is_reported(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    bigquery.failures = [(200, {"statistics": {}})]
    found = await call_tool("execute_sql", ask(SELECT), write_mode=WriteMode.PROTECTED)
    assert "no session" in found["error_details"]


def test_the_description_says_what_may_be_written() -> None:
    docs = {
        mode: get_execute_sql(BigQueryToolConfig(write_mode=mode)).__doc__ or ""
        for mode in WriteMode
    }
    assert get_execute_sql(None) is execute_sql
    assert "TEMP TABLE" not in docs[WriteMode.BLOCKED]
    assert "CREATE TEMP TABLE" in docs[WriteMode.PROTECTED]
    assert "permanently" in docs[WriteMode.ALLOWED]
    assert all("dry_run: If true" in doc for doc in docs.values())


def test_an_api_error_has_its_status() -> None:
    assert GoogleApiError("x", status=404).status == 404

"""forecast, analyze_contribution and detect_anomalies: the SQL that they write and run."""

import re
from typing import Any

import pytest

from ostinato.tools.bigquery.config import WriteMode
from ostinato.tools.bigquery.statements import quote_name, quote_text
from tests.support.fake_bigquery import FakeBigQuery, row
from tests.unit.tools.bigquery.conftest import CallTool

HISTORY = {"project_id": "p", "history_data": "sales.orders"}
FORECAST = {**HISTORY, "timestamp_col": "day", "data_col": "total"}
ANOMALIES = {**HISTORY, "times_series_timestamp_col": "day", "times_series_data_col": "total"}
CONTRIBUTION = {
    "project_id": "p",
    "input_data": "sales.orders",
    "contribution_metric": "SUM(total)",
    "dimension_id_cols": ["store", "kind"],
    "is_test_col": "is_test",
}


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


async def test_a_forecast_reads_a_table(bigquery: FakeBigQuery, call_tool: CallTool) -> None:
    bigquery.result = ([{"name": "forecast_value", "type": "FLOAT"}], [row("1.5")])
    found = await call_tool("forecast", {**FORECAST, "horizon": 7})
    assert found == {"status": "SUCCESS", "rows": [{"forecast_value": 1.5}]}
    assert flat(bigquery.ran[0]) == (
        "SELECT * FROM AI.FORECAST( TABLE `sales.orders`, data_col => 'total', "
        "timestamp_col => 'day', model => 'TimesFM 2.0', horizon => 7, confidence_level => 0.95 )"
    )
    assert bigquery.bodies[-1]["configuration"]["labels"] == {"adk-bigquery-tool": "forecast"}


async def test_a_forecast_reads_a_query(bigquery: FakeBigQuery, call_tool: CallTool) -> None:
    query = "select day, total from sales.orders"
    await call_tool("forecast", {**FORECAST, "history_data": query, "id_cols": ["a", "b"]})
    assert f"({query})" in bigquery.ran[0] and "id_cols => ['a', 'b']" in bigquery.ran[0]


async def test_a_name_ends_no_literal(bigquery: FakeBigQuery, call_tool: CallTool) -> None:
    await call_tool("forecast", {**FORECAST, "data_col": "x') ; DROP TABLE y --\\"})
    assert r"data_col => 'x\') ; DROP TABLE y --\\'," in flat(
        bigquery.bodies[0]["configuration"]["query"]["query"]
    )
    found = await call_tool("forecast", {**FORECAST, "history_data": "a`b"})
    assert "is not the name of a table or column" in found["error_details"]


def test_literals_and_names_are_quoted() -> None:
    assert quote_text("it's\n\\") == r"'it\'s\n\\'"
    assert quote_name(" `p.d.t` ") == "`p.d.t`"
    with pytest.raises(ValueError, match="is not the name"):
        quote_name(" ")


async def test_contributions_come_from_a_model_of_the_session(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    bigquery.result = ([{"name": "impact", "type": "INTEGER"}], [row("3")])
    found = await call_tool("analyze_contribution", CONTRIBUTION, write_mode=WriteMode.ALLOWED)
    assert found == {"status": "SUCCESS", "rows": [{"impact": 3}]}
    training, reading = map(flat, bigquery.ran)
    model = re.search(r"CREATE TEMP MODEL (contribution_analysis_model_\w+) ", training)
    assert model is not None
    assert training.endswith(
        "OPTIONS (MODEL_TYPE = 'CONTRIBUTION_ANALYSIS', CONTRIBUTION_METRIC = 'SUM(total)', "
        "IS_TEST_COL = 'is_test', DIMENSION_ID_COLS = ['store', 'kind'], "
        "TOP_K_INSIGHTS_BY_APRIORI_SUPPORT = 30, PRUNING_METHOD = 'PRUNE_REDUNDANT_INSIGHTS') "
        "AS SELECT * FROM `sales.orders`"
    )
    assert reading == f"SELECT * FROM ML.GET_INSIGHTS(MODEL {model[1]})"
    assert bigquery.sessions == 1


async def test_anomalies_come_from_a_model_of_the_session(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    args = {**ANOMALIES, "target_data": "sales.new", "times_series_id_cols": ["store"]}
    found = await call_tool("detect_anomalies", args, write_mode=WriteMode.PROTECTED)
    assert found["status"] == "SUCCESS"
    training, reading = map(flat, bigquery.ran)
    assert "MODEL_TYPE = 'ARIMA_PLUS'" in training and "HORIZON = 1000" in training
    assert "TIME_SERIES_ID_COL = ['store']" in training
    assert reading.endswith(
        "STRUCT(0.95 AS anomaly_prob_threshold), (SELECT * FROM `sales.new`)) "
        "ORDER BY `store`, `day`"
    )


@pytest.mark.parametrize(
    ("tool", "args"), [("analyze_contribution", CONTRIBUTION), ("detect_anomalies", ANOMALIES)]
)
async def test_a_model_is_not_made_where_writes_are_blocked(
    tool: str, args: dict[str, Any], bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    found = await call_tool(tool, args)
    assert "is not allowed in this session" in found["error_details"]
    assert bigquery.requests == []


async def test_what_no_model_can_be_made_of_is_refused(
    bigquery: FakeBigQuery, call_tool: CallTool
) -> None:
    wrong = {**CONTRIBUTION, "pruning_method": "SOME"}
    found = await call_tool("analyze_contribution", wrong, write_mode=WriteMode.ALLOWED)
    assert found["error_details"].startswith("Invalid pruning_method: SOME.")
    escape = "SELECT 1); DROP TABLE sales.orders; SELECT (1"
    wrong = {**CONTRIBUTION, "input_data": escape}
    found = await call_tool("analyze_contribution", wrong, write_mode=WriteMode.ALLOWED)
    assert found["status"] == "ERROR" and bigquery.ran == []

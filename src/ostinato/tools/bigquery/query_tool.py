"""Tools that run SQL in BigQuery: execute_sql and those that write their SQL themselves."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ... import _clock
from ..._google_rest import GoogleApiError
from .client import BigQueryClient, QueryJob, get_bigquery_client
from .config import BigQueryToolConfig, WriteMode
from .statements import (
    write_anomaly_query,
    write_anomaly_training,
    write_contribution_training,
    write_forecast,
    write_insights_query,
)

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

BIGQUERY_SESSION_INFO_KEY = "bigquery_session_info"

_TEMPORARY = re.compile(r"\s*CREATE\s+(OR\s+REPLACE\s+)?TEMP(ORARY)?\s", re.IGNORECASE)
_COMMENTS = re.compile(r"\A(\s+|#[^\n]*|--[^\n]*|/\*.*?\*/)+", re.DOTALL)
_TARGETS = ("ddlTargetTable", "ddlTargetDataset", "ddlTargetRoutine")
_SESSION = "_SESSION"  # BigQuery's name for a session's temporary tables
_READ_ONLY = "Read-only mode only supports SELECT statements."
_PROTECTED = (
    "Protected write mode only supports SELECT statements, or write operations in the anonymous "
    "dataset of a BigQuery session."
)
_WRITES = {
    WriteMode.PROTECTED: """
Only temporary tables, models and functions may be created, changed or dropped, such as with
CREATE TEMP TABLE; they live in a session and are seen by later queries. Anything permanent is
refused. Send one statement at a time.
""",
    WriteMode.ALLOWED: """
Statements that write, such as CREATE TABLE, INSERT, UPDATE, DELETE and DROP TABLE, take effect
at once and permanently; they return no rows.
""",
}

# How many queries each call has run, for their ids.
_counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def execute_sql(
    project_id: str,
    query: str,
    credentials: Any,
    settings: BigQueryToolConfig,
    tool_context: ToolContext,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Run a BigQuery or BigQuery ML SQL query in the project and return the result.

    Args:
        project_id: The GCP project id in which the query should be executed.
        query: The BigQuery SQL query to be executed.
        dry_run: If true, the query is not executed: it is validated, and information about it,
            such as the bytes that it would process, is returned.

    Returns:
        A dict with the status and the rows. With "result_is_likely_truncated" there may be more
        rows than those returned. For a dry run: "dry_run_info".
    """
    return _run_sql(
        "execute_sql", project_id, query, credentials, settings, tool_context, dry_run=dry_run
    )


def get_execute_sql(settings: BigQueryToolConfig | None) -> Callable[..., dict[str, Any]]:
    """Return execute_sql with the description that fits a write mode.

    Args:
      settings: of the toolset; None blocks writes.
    """
    note = _WRITES.get(settings.write_mode) if settings else None
    if note is None:
        return execute_sql

    @functools.wraps(execute_sql)
    def run(*args: Any, **named: Any) -> dict[str, Any]:
        return execute_sql(*args, **named)

    first, _, rest = (execute_sql.__doc__ or "").partition("\n")
    run.__doc__ = f"{first}\n{note}{rest}"
    return run


def forecast(
    project_id: str,
    history_data: str,
    timestamp_col: str,
    data_col: str,
    horizon: int = 10,
    id_cols: list[str] | None = None,
    *,
    credentials: Any,
    settings: BigQueryToolConfig,
    tool_context: ToolContext,
) -> dict[str, Any]:
    """Run a BigQuery AI time series forecast using AI.FORECAST.

    Args:
        project_id: The GCP project id in which the query should be executed.
        history_data: The id of the table with the history of the time series, or a query that
            selects it.
        timestamp_col: The name of the column with the timestamp of each data point.
        data_col: The name of the column with the numerical values to be forecasted.
        horizon: The number of time steps to forecast.
        id_cols: The names of the columns that identify each time series, where the table has
            several.

    Returns:
        A dict with the status and the rows: forecasted values with prediction intervals.
    """
    return _run_written(
        "forecast",
        lambda: [write_forecast(history_data, timestamp_col, data_col, horizon, id_cols)],
        (project_id, credentials, settings, tool_context),
    )


def analyze_contribution(
    project_id: str,
    input_data: str,
    contribution_metric: str,
    dimension_id_cols: list[str],
    is_test_col: str,
    credentials: Any,
    settings: BigQueryToolConfig,
    tool_context: ToolContext,
    top_k_insights: int = 30,
    pruning_method: str = "PRUNE_REDUNDANT_INSIGHTS",
) -> dict[str, Any]:
    """Run a BigQuery ML contribution analysis: which dimensions explain a change of a metric.

    Args:
        project_id: The GCP project id in which the query should be executed.
        input_data: The id of the table with test and control data, or a query that selects them.
        contribution_metric: The expression of the metric: SUM(column),
            SUM(column)/SUM(column) or SUM(column)/COUNT(DISTINCT column).
        dimension_id_cols: The names of the dimension columns.
        is_test_col: The name of the BOOL column that says whether a row is test data.
        top_k_insights: The number of top insights to return.
        pruning_method: 'NO_PRUNING' or 'PRUNE_REDUNDANT_INSIGHTS'.

    Returns:
        A dict with the status and the rows: the insights.
    """
    if settings.write_mode is WriteMode.BLOCKED:
        return _error(
            "analyze_contribution is not allowed in this session: it needs a temporary "
            "model, and write_mode is BLOCKED."
        )
    model = f"contribution_analysis_model_{_unique_suffix(tool_context)}"
    return _run_written(
        "analyze_contribution",
        lambda: [
            write_contribution_training(
                model,
                input_data,
                contribution_metric,
                dimension_id_cols,
                is_test_col,
                top_k_insights,
                pruning_method,
            ),
            write_insights_query(model),
        ],
        (project_id, credentials, _in_session(settings), tool_context),
    )


def detect_anomalies(
    project_id: str,
    history_data: str,
    times_series_timestamp_col: str,
    times_series_data_col: str,
    horizon: int | None = 1000,
    target_data: str | None = None,
    times_series_id_cols: list[str] | None = None,
    anomaly_prob_threshold: float | None = 0.95,
    *,
    credentials: Any,
    settings: BigQueryToolConfig,
    tool_context: ToolContext,
) -> dict[str, Any]:
    """Detect anomalies of time series in BigQuery with an ARIMA_PLUS model.

    Args:
        project_id: The GCP project id in which the query should be executed.
        history_data: The id of the table with the history of the time series, or a query that
            selects it.
        times_series_timestamp_col: The name of the column with the timestamp of each data point.
        times_series_data_col: The name of the column with the numerical values.
        horizon: The number of time steps to forecast.
        target_data: The id of the table, or a query, with the data to look at; the history if
            none is given.
        times_series_id_cols: The names of the columns that identify each time series, where the
            table has several.
        anomaly_prob_threshold: The probability from which on a data point is an anomaly.

    Returns:
        A dict with the status and the rows: for each data point whether it is an anomaly, the
        bounds and the probability.
    """
    if settings.write_mode is WriteMode.BLOCKED:
        return _error(
            "anomaly detection is not allowed in this session: it needs a temporary "
            "model, and write_mode is BLOCKED."
        )
    model = f"detect_anomalies_model_{_unique_suffix(tool_context)}"
    columns = (times_series_timestamp_col, times_series_data_col)
    return _run_written(
        "detect_anomalies",
        lambda: [
            write_anomaly_training(model, history_data, columns, horizon, times_series_id_cols),
            write_anomaly_query(
                model,
                target_data,
                times_series_timestamp_col,
                times_series_id_cols,
                anomaly_prob_threshold,
            ),
        ],
        (project_id, credentials, _in_session(settings), tool_context),
    )


def _run_written(
    tool: str,
    write: Callable[[], list[str]],
    call: tuple[str, Any, BigQueryToolConfig, ToolContext],
) -> dict[str, Any]:
    """Run queries that a tool writes, one after another; return the last result or the error."""
    project_id, credentials, settings, tool_context = call
    try:
        queries = write()
    except ValueError as error:
        return _error(str(error))
    result: dict[str, Any] = {}
    for query in queries:
        result = _run_sql(tool, project_id, query, credentials, settings, tool_context)
        if result["status"] != "SUCCESS":
            break
    return result


def _run_sql(
    tool: str,
    project_id: str,
    query: str,
    credentials: Any,
    settings: BigQueryToolConfig,
    tool_context: ToolContext,
    *,
    dry_run: bool = False,
) -> dict[str, Any]:
    allowed = settings.compute_project_id
    if allowed and project_id != allowed:
        return _error(
            f"Cannot execute query in the project {project_id}, as the tool is restricted to "
            f"execute queries only in the project {allowed}."
        )
    labels = {**(settings.job_labels or {}), "adk-bigquery-tool": tool}
    if settings.application_name:
        labels["adk-bigquery-application-name"] = settings.application_name
    try:
        with get_bigquery_client(
            project=project_id,
            credentials=credentials,
            location=settings.location,
            user_agent=[name for name in (settings.application_name, tool) if name],
        ) as client:
            session, session_dataset = _open_session(client, settings, labels, tool_context)
            plan = QueryJob(query, labels=labels, session_id=session)
            refusal, facts = _check_statement(client, plan, settings.write_mode, session_dataset)
            if refusal:
                return _error(refusal)
            if dry_run:
                return {"status": "SUCCESS", "dry_run_info": facts or client.dry_run(plan)}
            job = QueryJob(
                query,
                labels=labels,
                session_id=session,
                maximum_bytes_billed=settings.maximum_bytes_billed,
                job_id=_make_job_id(query, tool_context),
            )
            rows = client.run_query(job, settings.max_query_result_rows)
    except GoogleApiError as error:
        return _error(str(error))
    result: dict[str, Any] = {"status": "SUCCESS", "rows": rows}
    if len(rows) == settings.max_query_result_rows:
        result["result_is_likely_truncated"] = True
    return result


def _open_session(
    client: BigQueryClient,
    settings: BigQueryToolConfig,
    labels: dict[str, str],
    tool_context: ToolContext,
) -> tuple[str, str]:
    """Return the BigQuery session of the agent's session and its dataset; none if not needed."""
    if settings.write_mode is not WriteMode.PROTECTED:
        return "", ""
    kept = tool_context.state.get(BIGQUERY_SESSION_INFO_KEY)
    if kept:
        session, dataset = kept
        return session, dataset
    facts = client.dry_run(QueryJob("SELECT 1", labels=labels, creates_session=True))
    session = facts.get("statistics", {}).get("sessionInfo", {}).get("sessionId", "")
    target = facts.get("configuration", {}).get("query", {}).get("destinationTable", {})
    dataset = target.get("datasetId", "")
    if not session or not dataset:
        raise GoogleApiError("BigQuery started no session, which write_mode PROTECTED needs.")
    tool_context.state[BIGQUERY_SESSION_INFO_KEY] = [session, dataset]
    return session, dataset


def _check_statement(
    client: BigQueryClient, plan: QueryJob, mode: WriteMode, session_dataset: str
) -> tuple[str, dict[str, Any] | None]:
    """Return why a statement may not run (empty if it may), and its dry run if there was one."""
    if mode is WriteMode.ALLOWED:
        return "", None
    facts = client.dry_run(plan)
    statistics = facts.get("statistics", {}).get("query", {})
    kind = statistics.get("statementType", "")
    if kind == "SELECT":
        return "", facts
    if mode is WriteMode.BLOCKED:
        return _READ_ONLY, facts
    targets = [statistics[name] for name in _TARGETS if name in statistics]
    destination = facts.get("configuration", {}).get("query", {}).get("destinationTable")
    targets += [destination] if destination else []
    if targets:
        safe = (session_dataset, _SESSION)
        is_safe = all(target.get("datasetId") in safe for target in targets)
    else:
        # BigQuery names no target of a temporary model; a script or a call may write anywhere.
        text = _COMMENTS.sub("", plan.query)
        is_safe = kind.startswith("CREATE_") and _TEMPORARY.match(text) is not None
    return ("" if is_safe else _PROTECTED), facts


def _in_session(settings: BigQueryToolConfig) -> BigQueryToolConfig:
    """Return settings that keep a temporary model in a session."""
    return settings.model_copy(update={"write_mode": WriteMode.PROTECTED})


def _make_job_id(query: str, tool_context: ToolContext) -> str:
    """Return the id of the next job of a call: the same when the call is run again after a crash.

    BigQuery runs a job id once only, so a statement takes effect once.
    """
    return f"adk_{_digest(query, tool_context)}"


def _unique_suffix(tool_context: ToolContext) -> str:
    return _digest("model", tool_context)


def _digest(text: str, tool_context: ToolContext) -> str:
    try:
        key: Any = tool_context.idempotency_key
    except (AttributeError, ValueError):  # no context of a call, as in a script
        key = None
    if not isinstance(key, str):
        return _clock.unique_id().replace("-", "_")
    number = _counts[tool_context] = _counts.get(tool_context, 0) + 1
    return hashlib.sha256(f"{key}\n{number}\n{text}".encode()).hexdigest()[:40]


def _error(details: str) -> dict[str, Any]:
    return {"status": "ERROR", "error_details": details}

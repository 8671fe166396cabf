"""ask_data_insights: asks Google's data analytics agent about BigQuery tables."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote

from ..._google_rest import GoogleApiError, GoogleRestClient
from .client import BQ_USER_AGENT
from .config import BigQueryToolConfig

ANALYTICS_URL = "https://geminidataanalytics.googleapis.com/v1beta"
_TIMEOUT_SECONDS = 600.0  # the agent runs several queries for an answer
_OMITTED = {"Data Retrieved": "Intermediate result omitted"}
_INSTRUCTIONS = """Answer in plain text only: no charts, graphs, images or other visualizations.
Show the data that the answer rests on, then the conclusion with the details that matter.
Look at impact and outcomes (rates, shares, changes), not only at volumes and counts."""

_Message = dict[str, Any]


def ask_data_insights(
    project_id: str,
    user_query_with_context: str,
    table_references: list[dict[str, str]],
    credentials: Any,
    settings: BigQueryToolConfig,
) -> dict[str, Any]:
    """Answer questions about structured data in BigQuery tables using natural language.

    An agent of Google's understands the question, writes and runs SQL and code, and answers in
    plain text. Use this tool to analyze the contents of specific BigQuery tables.

    Args:
        project_id: The project that the inquiry is performed in.
        user_query_with_context: The user's request, with the context of the conversation that is
            needed to understand it.
        table_references: The tables to use, each with projectId, datasetId and tableId.

    Returns:
        A dict with the status and the response: the steps of the work (SQL, data, final answer).
    """
    parent = f"projects/{quote(project_id, safe=':')}"
    bigquery = {"tableReferences": table_references}
    body: _Message = {
        "project": f"projects/{project_id}",
        "messages": [{"userMessage": {"text": user_query_with_context}}],
        "inlineContext": {
            "datasourceReferences": {"bq": bigquery},
            "systemInstruction": _INSTRUCTIONS,
            "options": {"chart": {"image": {"noImage": {}}}},
        },
    }
    try:
        with GoogleRestClient(
            "Gemini Data Analytics",
            credentials=credentials,
            user_agent=BQ_USER_AGENT,
            timeout_seconds=_TIMEOUT_SECONDS,
        ) as client:
            url = f"{ANALYTICS_URL}/{parent}/locations/global:chat"
            steps = client.send_request("POST", url, body=body, repeatable=False)
    except GoogleApiError as error:
        return {"status": "ERROR", "error_details": str(error)}
    found = cast("list[Any]", steps) if isinstance(steps, list) else [steps]
    return {"status": "SUCCESS", "response": _read_steps(found, settings.max_query_result_rows)}


def _read_steps(steps: list[Any], max_rows: int) -> list[Any]:
    """Return the steps for the model; of the results of queries only the last in full."""
    messages: list[Any] = []
    last_data: int | None = None
    for step in steps:
        result = _find_data(step)
        if result is None:
            told = cast("_Message", step).get("systemMessage") if isinstance(step, dict) else None
            messages.append(told if isinstance(told, dict) else step)
            continue
        if last_data is not None:
            messages[last_data] = dict(_OMITTED)
        last_data = len(messages)
        messages.append({"Data Retrieved": _show_data(result, max_rows)})
    return messages


def _find_data(step: Any) -> _Message | None:
    """Return the result of a query that a step holds, or None."""
    value: Any = step
    for name in ("systemMessage", "data", "result"):
        value = cast("_Message", value).get(name) if isinstance(value, dict) else None
    if not isinstance(value, dict):
        return None
    result = cast("_Message", value)
    return result if isinstance(result.get("data"), list) else None


def _show_data(result: _Message, max_rows: int) -> _Message:
    data = [cast("_Message", row) for row in result["data"] if isinstance(row, dict)]
    schema = cast("_Message", result.get("schema") or {})
    fields = cast("list[_Message]", schema.get("fields") or [])
    headers: list[str] = [field["name"] for field in fields if isinstance(field.get("name"), str)]
    if not headers and data:
        headers = list(data[0])
    shown = data[:max_rows]
    summary = f"Showing all {len(data)} rows."
    if len(data) > max_rows:
        summary = f"Showing the first {len(shown)} of {len(data)} total rows."
    rows = [[row.get(name) for name in headers] for row in shown]
    return {"headers": headers, "rows": rows, "summary": summary}

"""search_catalog: finds BigQuery's datasets and tables by what they are about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from ..._google_rest import GoogleApiError, GoogleRestClient
from .client import DP_USER_AGENT
from .config import BigQueryToolConfig

CATALOG_URL = "https://dataplex.googleapis.com/v1"


def search_catalog(
    prompt: str,
    project_id: str,
    *,
    credentials: Any,
    settings: BigQueryToolConfig,
    location: str | None = None,
    page_size: int = 10,
    project_ids_filter: list[str] | None = None,
    dataset_ids_filter: list[str] | None = None,
    types_filter: list[str] | None = None,
) -> dict[str, Any]:
    """Find BigQuery datasets and tables using natural language semantic search via Dataplex.

    Use this tool to discover BigQuery assets when you do not know their exact names.

    Args:
        prompt: What to look for, in natural language or keywords.
        project_id: The Google Cloud project ID to scope the search.
        location: The Dataplex location to use.
        page_size: Maximum number of results.
        project_ids_filter: Project IDs to search; the scoping project if none are given.
        dataset_ids_filter: BigQuery dataset IDs to search.
        types_filter: Entry types to find, such as TABLE or DATASET.

    Returns:
        A dict with the status and the results, each with name, linked_resource, display_name,
        entry_type, description, location and update_time.
    """
    if not project_id:
        return {"status": "ERROR", "error_details": "project_id must be provided."}
    place = location or settings.location or "global"
    agent = " ".join(
        name for name in (DP_USER_AGENT, settings.application_name, "search_catalog") if name
    )
    query = _write_query(
        prompt, project_ids_filter or [project_id], dataset_ids_filter, types_filter
    )
    scope = f"projects/{quote(project_id, safe=':')}/locations/{quote(place, safe='')}"
    try:
        with GoogleRestClient("Dataplex", credentials=credentials, user_agent=agent) as client:
            answer = client.send_request(
                "POST",
                f"{CATALOG_URL}/{scope}:searchEntries",
                params={"query": query, "pageSize": page_size, "semanticSearch": "true"},
            )
    except GoogleApiError as error:
        return {"status": "ERROR", "error_details": f"Dataplex API Error: {error}"}
    found = [_read_entry(result.get("dataplexEntry", {})) for result in answer.get("results", ())]
    return {"status": "SUCCESS", "results": found}


def _write_query(
    prompt: str,
    projects: list[str],
    datasets: list[str] | None,
    kinds: list[str] | None,
) -> str:
    """Return a query of the catalog's search language; always within BigQuery."""
    parts = [f"({prompt})"] if prompt else []
    parts.append(_join_choices(f"projectid={_quote(project)}" for project in projects))
    if datasets:
        root = "//bigquery.googleapis.com/projects"
        places = [f"{root}/{project}/datasets/{one}/*" for project in projects for one in datasets]
        choices = " OR ".join(f"linked_resource:{_quote(place)}" for place in places)
        parts.append(f"({choices})")
    if kinds:
        parts.append(_join_choices(f"type={_quote(kind)}" for kind in kinds))
    return " AND ".join([*parts, "system=BIGQUERY"])


def _join_choices(choices: Iterable[str]) -> str:
    found = list(choices)
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _read_entry(entry: dict[str, Any]) -> dict[str, str]:
    source: dict[str, Any] = entry.get("entrySource", {})
    return {
        "name": entry.get("name", ""),
        "display_name": source.get("displayName", ""),
        "entry_type": entry.get("entryType", ""),
        "update_time": _read_time(entry.get("updateTime", "")),
        "linked_resource": source.get("resource", ""),
        "description": source.get("description", ""),
        "location": source.get("location", ""),
    }


def _read_time(text: str) -> str:
    try:
        return str(datetime.fromisoformat(text))
    except ValueError:
        return text

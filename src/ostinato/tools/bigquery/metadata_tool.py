"""Tools that describe BigQuery's datasets, tables and jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..._google_rest import GoogleApiError
from .client import BigQueryClient, get_bigquery_client
from .config import BigQueryToolConfig

T = TypeVar("T")


def list_dataset_ids(
    project_id: str, credentials: Any, settings: BigQueryToolConfig
) -> list[str] | dict[str, Any]:
    """List BigQuery dataset ids in a Google Cloud project.

    Args:
        project_id: The Google Cloud project id.

    Returns:
        The ids of the datasets in the project.
    """
    return _ask(
        "list_dataset_ids",
        project_id,
        credentials,
        settings,
        lambda client: client.list_dataset_ids(project_id),
    )


def get_dataset_info(
    project_id: str, dataset_id: str, credentials: Any, settings: BigQueryToolConfig
) -> dict[str, Any]:
    """Get metadata information about a BigQuery dataset.

    Args:
        project_id: The Google Cloud project id containing the dataset.
        dataset_id: The BigQuery dataset id.

    Returns:
        The properties of the dataset, such as its description, location and access.
    """
    return _ask(
        "get_dataset_info",
        project_id,
        credentials,
        settings,
        lambda client: client.get_dataset(project_id, dataset_id),
    )


def list_table_ids(
    project_id: str, dataset_id: str, credentials: Any, settings: BigQueryToolConfig
) -> list[str] | dict[str, Any]:
    """List table ids in a BigQuery dataset.

    Args:
        project_id: The Google Cloud project id containing the dataset.
        dataset_id: The BigQuery dataset id.

    Returns:
        The ids of the tables and views in the dataset.
    """
    return _ask(
        "list_table_ids",
        project_id,
        credentials,
        settings,
        lambda client: client.list_table_ids(project_id, dataset_id),
    )


def get_table_info(
    project_id: str, dataset_id: str, table_id: str, credentials: Any, settings: BigQueryToolConfig
) -> dict[str, Any]:
    """Get metadata information about a BigQuery table.

    Args:
        project_id: The Google Cloud project id containing the dataset.
        dataset_id: The BigQuery dataset id containing the table.
        table_id: The BigQuery table id.

    Returns:
        The properties of the table, its schema with names and types of columns among them.
    """
    return _ask(
        "get_table_info",
        project_id,
        credentials,
        settings,
        lambda client: client.get_table(project_id, dataset_id, table_id),
    )


def get_job_info(
    project_id: str, job_id: str, credentials: Any, settings: BigQueryToolConfig
) -> dict[str, Any]:
    """Get metadata information about a BigQuery job: its state, slot usage, statistics and errors.

    Args:
        project_id: The Google Cloud project id containing the job.
        job_id: The BigQuery job id.

    Returns:
        The properties of the job: configuration, statistics, status.
    """
    return _ask(
        "get_job_info",
        project_id,
        credentials,
        settings,
        lambda client: client.get_job(job_id),
    )


def _ask(
    tool: str,
    project_id: str,
    credentials: Any,
    settings: BigQueryToolConfig,
    ask: Callable[[BigQueryClient], T],
) -> T | Any:
    """Return what a client answers, or a dict with the error for the model."""
    try:
        with get_bigquery_client(
            project=project_id,
            credentials=credentials,
            location=settings.location,
            user_agent=[name for name in (settings.application_name, tool) if name],
        ) as client:
            return ask(client)
    except GoogleApiError as error:
        return {"status": "ERROR", "error_details": str(error)}

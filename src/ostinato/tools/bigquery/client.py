"""BigQueryClient: BigQuery's REST API, as far as the tools need it, without Google's library."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from ..._absences import refuse_absent
from ..._google_rest import GoogleApiError, GoogleRestClient
from ...features.environment import find_variable
from ...version import __version__
from .rows import decode_rows

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here

USER_AGENT_BASE = f"ostinato/{__version__}"
BQ_USER_AGENT = f"adk-bigquery-tool {USER_AGENT_BASE}"
DP_USER_AGENT = f"adk-dataplex-tool {USER_AGENT_BASE}"
USER_AGENT = BQ_USER_AGENT

_EMULATOR = "BIGQUERY_EMULATOR_HOST"
_MOST_IDS = 10_000
_PAGE = 1_000
_WAIT_MS = 10_000
_MOST_WAITS = 360  # of 10 s each, but for the first ones
_sleep = time.sleep
_EXISTS = 409


@dataclass(frozen=True)
class QueryJob:
    """A query and how it runs.

    Attributes:
      query: GoogleSQL.
      labels: of the job.
      session_id: of the BigQuery session that it runs in; none if empty.
      creates_session: whether it starts one.
      maximum_bytes_billed: the most bytes that it may be billed for.
      job_id: the same id never runs twice; BigQuery makes one if empty.
    """

    query: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    session_id: str = ""
    creates_session: bool = False
    maximum_bytes_billed: int | None = None
    job_id: str = ""


class BigQueryClient:
    """Asks BigQuery. A context manager: leaving it closes the connections.

    Args:
      project: in which queries run.
      credentials: a login of google-auth; the machine's own identity if None.
      location: of data and jobs; BigQuery chooses if None.
      user_agent: the `User-Agent` header.
    """

    def __init__(
        self, *, project: str, credentials: Any, location: str | None, user_agent: str
    ) -> None:
        self._project, self._location = project, location
        self._rest = GoogleRestClient("BigQuery", credentials=credentials, user_agent=user_agent)
        _, emulator = find_variable(_EMULATOR)
        domain = getattr(credentials, "universe_domain", None)
        if not isinstance(domain, str) or not domain:
            domain = "googleapis.com"
        self._base = f"{(emulator or f'https://bigquery.{domain}').rstrip('/')}/bigquery/v2"

    def __enter__(self) -> BigQueryClient:
        return self

    def __exit__(self, *error: object) -> None:
        self._rest.__exit__(*error)

    def list_dataset_ids(self, project: str) -> list[str]:
        """Return the ids of a project's datasets, 10,000 at most."""
        found = self._list_items(["projects", project, "datasets"], "datasets")
        return [item["datasetReference"]["datasetId"] for item in found]

    def list_table_ids(self, project: str, dataset: str) -> list[str]:
        """Return the ids of a dataset's tables and views, 10,000 at most."""
        found = self._list_items(["projects", project, "datasets", dataset, "tables"], "tables")
        return [item["tableReference"]["tableId"] for item in found]

    def get_dataset(self, project: str, dataset: str) -> dict[str, Any]:
        """Return the description of a dataset."""
        return self._get(["projects", project, "datasets", dataset])

    def get_table(self, project: str, dataset: str, table: str) -> dict[str, Any]:
        """Return the description of a table."""
        return self._get(["projects", project, "datasets", dataset, "tables", table])

    def get_job(self, job_id: str) -> dict[str, Any]:
        """Return the description of a job."""
        path = ["projects", self._project, "jobs", job_id]
        return self._get(path, {"location": self._location})

    def dry_run(self, job: QueryJob) -> dict[str, Any]:
        """Return what BigQuery says of a query without running it.

        Raises:
          GoogleApiError: the query is wrong, or BigQuery refused.
        """
        return self._insert_job(job, dry_run=True)

    def run_query(self, job: QueryJob, max_rows: int) -> list[dict[str, Any]]:
        """Run a query, wait for its end and return its first rows.

        A job whose id BigQuery knows is not run again: its result is returned.

        Args:
          job: the query.
          max_rows: how many rows to return.

        Raises:
          GoogleApiError: the query failed, or ran for longer than an hour.
        """
        location = self._location
        job_id = job.job_id
        try:
            made = self._insert_job(job, dry_run=False)
        except GoogleApiError as error:
            if error.status != _EXISTS or not job_id:
                raise
        else:
            failure = made.get("status", {}).get("errorResult")
            if failure:
                raise GoogleApiError(f"The query failed: {failure.get('message', failure)}")
            job_id = made["jobReference"]["jobId"]
            location = made["jobReference"].get("location") or location
        return self._read_result(job_id, location, max_rows)

    def _read_result(
        self, job_id: str, location: str | None, max_rows: int
    ) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        token: str | None = None
        waits = 0
        while True:
            asked_at = time.monotonic()
            answer = self._get(
                ["projects", self._project, "queries", job_id],
                {
                    "location": location,
                    "maxResults": max_rows - len(rows),
                    "pageToken": token,
                    "timeoutMs": _WAIT_MS,
                    "formatOptions.useInt64Timestamp": "true",
                },
            )
            if not answer.get("jobComplete"):
                waits += 1
                if waits == _MOST_WAITS:
                    raise GoogleApiError(
                        f"The query still runs after an hour as job {job_id!r}. Look at it with "
                        "get_job_info."
                    )
                # A server may answer at once, although it is asked to wait.
                _sleep(max(min(2.0**waits, 10.0) - (time.monotonic() - asked_at), 0.0))
                continue
            fields = answer.get("schema", {}).get("fields", [])
            rows += decode_rows(fields, answer.get("rows", []))
            earlier, token = token, answer.get("pageToken")
            if not token or len(rows) >= max_rows:
                return rows[:max_rows]
            if token == earlier:
                raise GoogleApiError(
                    f"BigQuery repeats a page of the result of job {job_id!r}, so that only "
                    f"{len(rows)} rows could be read. Ask for fewer, or read the job again."
                )

    def _insert_job(self, job: QueryJob, *, dry_run: bool) -> dict[str, Any]:
        query: dict[str, Any] = {"query": job.query, "useLegacySql": False}
        if job.session_id:
            query["connectionProperties"] = [{"key": "session_id", "value": job.session_id}]
        if job.creates_session:
            query["createSession"] = True
        if job.maximum_bytes_billed and not dry_run:
            query["maximumBytesBilled"] = str(job.maximum_bytes_billed)
        configuration: dict[str, Any] = {"query": query}
        if job.labels:
            configuration["labels"] = dict(job.labels)
        if dry_run:
            configuration["dryRun"] = True
        reference = {"projectId": self._project, "location": self._location}
        if not dry_run:
            reference["jobId"] = job.job_id or None
        return self._rest.send_request(
            "POST",
            self._url(["projects", self._project, "jobs"]),
            body={
                "configuration": configuration,
                "jobReference": {name: value for name, value in reference.items() if value},
            },
            # A job with an id of its own is made once only.
            repeatable=dry_run or bool(job.job_id),
        )

    def _list_items(self, path: list[str], name: str) -> Iterator[dict[str, Any]]:
        token: str | None = None
        for _ in range(_MOST_IDS // _PAGE):
            answer = self._get(path, {"maxResults": _PAGE, "pageToken": token})
            yield from answer.get(name, ())
            earlier, token = token, answer.get("nextPageToken")
            if not token or token == earlier:
                return

    def _get(
        self, path: list[str], params: Mapping[str, str | int | None] | None = None
    ) -> dict[str, Any]:
        return self._rest.send_request("GET", self._url(path), params=params)

    def _url(self, path: list[str]) -> str:
        if any(part in ("", ".", "..") for part in path):
            raise GoogleApiError("A project, dataset, table or job id is empty. Give its id.")
        return "/".join((self._base, *(quote(part, safe=":") for part in path)))


def get_bigquery_client(
    *,
    project: str | None,
    credentials: Any,
    location: str | None = None,
    user_agent: str | list[str] | None = None,
) -> BigQueryClient:
    """Return a client of BigQuery.

    It has the methods that the tools need, not those of google-cloud-bigquery.

    Args:
      project: in which queries run.
      credentials: a login of google-auth; the machine's own identity if None.
      location: of data and jobs; BigQuery chooses if None.
      user_agent: added to the `User-Agent` header.
    """
    given = [user_agent] if isinstance(user_agent, str) else user_agent or []
    agent = " ".join([BQ_USER_AGENT, *(part for part in given if part)])
    return BigQueryClient(
        project=project or "", credentials=credentials, location=location, user_agent=agent
    )

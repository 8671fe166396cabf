"""A BigQuery on the loopback: the REST resources that the tools use, with jobs that happen once."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

SESSION_DATASET = "_anonymous"
_KINDS = (
    (r"(SELECT|WITH)\b", "SELECT"),
    (r"CREATE\s+(OR\s+REPLACE\s+)?(TEMP\s+)?MODEL\b", "CREATE_MODEL"),
    (r"CREATE\s+(OR\s+REPLACE\s+)?(TEMP\s+)?TABLE\b", "CREATE_TABLE"),
    (r"DROP\s+TABLE\b", "DROP_TABLE"),
    (r"INSERT\b", "INSERT"),
    (r"CALL\b", "CALL"),
)

Answer = tuple[int, dict[str, Any]]


class FakeBigQuery:
    """What the server holds, what it was asked, and which statements it ran.

    Attributes:
      datasets: dataset id to table ids.
      result: schema fields and rows of each query.
      requests: method, path, query and body of each request, in order.
      tokens: the bearer token of each request.
      agents: the `User-Agent` of each request.
      ran: the SQL of each job that took effect.
      failures: answers to give before all others, first come first served.
      pages: the most items of one page.
      unfinished: how often a result is not there yet.
      session_name: the dataset of temporary tables, as statements name it.
      breaks_after_insert: whether the next insertion of a job breaks the connection once done.
    """

    def __init__(self) -> None:
        self.url = ""
        self.reset()

    def reset(self) -> None:
        """Forget everything but the address."""
        self.datasets: dict[str, list[str]] = {"sales": ["orders", "items"], "web": []}
        self.result: tuple[list[dict[str, Any]], list[Any]] = ([], [])
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.tokens: list[str] = []
        self.agents: list[str] = []
        self.ran: list[str] = []
        self.failures: list[Answer] = []
        self.pages = 1_000
        self.unfinished = 0
        self.breaks_after_insert = False
        self.session_name = SESSION_DATASET
        self.jobs: dict[str, Any] = {}
        self.sessions = 0

    @property
    def bodies(self) -> list[Any]:
        """The jobs that were sent, dry runs among them."""
        return [body for _, _, _, body in self.requests if body]

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> Answer:
        """Return status and JSON of one request."""
        self.requests.append((method, path, query, body))
        if self.failures:
            return self.failures.pop(0)
        parts = [unquote(part) for part in path.removeprefix("/bigquery/v2/").split("/")]
        match (method, parts):
            case ("GET", ["projects", project, "datasets"]):
                return self._page(
                    "datasets",
                    [
                        {"datasetReference": {"projectId": project, "datasetId": name}}
                        for name in self.datasets
                    ],
                    query,
                )
            case ("GET", ["projects", _, "datasets", name, *rest]) if name in self.datasets:
                return self._describe(name, rest, query)
            case ("POST", ["projects", project, "jobs"]):
                return self._insert(project, body)
            case ("GET", ["projects", _, "jobs", job]) if job in self.jobs:
                return 200, self.jobs[job]
            case ("GET", ["projects", _, "queries", job]) if job in self.jobs:
                return self._read_result(job, query)
            case _:
                return 404, {"error": {"code": 404, "message": f"Not found: {parts[-1]}"}}

    def _describe(self, dataset: str, rest: list[str], query: dict[str, str]) -> Answer:
        tables = self.datasets[dataset]
        match rest:
            case []:
                return 200, {"id": f"p:{dataset}", "location": "EU"}
            case ["tables"]:
                return self._page(
                    "tables",
                    [
                        {"tableReference": {"projectId": "p", "datasetId": dataset, "tableId": t}}
                        for t in tables
                    ],
                    query,
                )
            case ["tables", table] if table in tables:
                return 200, {"id": f"p:{dataset}.{table}", "schema": {"fields": []}}
            case _:
                return 404, {"error": {"code": 404, "message": f"Not found: {rest[-1]}"}}

    def _page(self, name: str, items: list[Any], query: dict[str, str]) -> Answer:
        start = int(query.get("pageToken", "0"))
        end = start + min(self.pages, int(query.get("maxResults", "1000")))
        more = {"nextPageToken": str(end)} if end < len(items) else {}
        return 200, {name: items[start:end], **more}

    def _insert(self, project: str, body: Any) -> Answer:
        configuration = body["configuration"]
        asked = configuration["query"]
        kind, facts = self._classify(asked)
        made: dict[str, Any] = {
            "jobReference": {"projectId": project, "location": "EU", **body["jobReference"]},
            "configuration": {**configuration, "query": {**asked, **facts}},
            "statistics": {"query": {"statementType": kind}, "totalBytesProcessed": "77"},
            "status": {"state": "DONE"},
        }
        if kind.endswith("_TABLE"):
            made["statistics"]["query"]["ddlTargetTable"] = facts["destinationTable"]
        if asked.get("createSession"):
            self.sessions += 1
            made["statistics"]["sessionInfo"] = {"sessionId": f"session-{self.sessions}"}
        if configuration.get("dryRun"):
            return 200, made
        job = made["jobReference"].setdefault("jobId", f"job-{len(self.jobs)}")
        if job in self.jobs:
            return 409, {"error": {"code": 409, "message": f"Already Exists: Job {job}"}}
        self.jobs[job] = made
        self.ran.append(asked["query"])
        return 200, made

    def _classify(self, asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the type of a statement and where it writes, as BigQuery says it."""
        text = re.sub(r"--[^\n]*\n", "", asked["query"]).strip()
        if ";" in text.rstrip(";"):
            return "SCRIPT", {}
        kind = next(kind for shape, kind in _KINDS if re.match(shape, text, re.IGNORECASE))
        if kind in ("CREATE_MODEL", "CALL"):
            return kind, {}
        permanent = re.search(r"\b(sales|web)\.(\w+)", text) if kind != "SELECT" else None
        dataset = permanent[1] if permanent else self.session_name
        return kind, {"destinationTable": {"projectId": "p", "datasetId": dataset, "tableId": "t"}}

    def _read_result(self, job: str, query: dict[str, str]) -> Answer:
        if self.unfinished:
            self.unfinished -= 1
            return 200, {"jobComplete": False}
        fields, rows = self.result
        start = int(query.get("pageToken", "0"))
        end = start + min(self.pages, int(query.get("maxResults", "1000")))
        more = {"pageToken": str(end)} if end < len(rows) else {}
        return 200, {
            "jobComplete": True,
            "schema": {"fields": fields},
            "rows": rows[start:end],
            "totalRows": str(len(rows)),
            **more,
        }


def row(*values: Any) -> dict[str, Any]:
    """Return a row, or the value of a record, in BigQuery's form."""
    return {"f": [{"v": value} for value in values]}


@contextmanager
def serve_bigquery() -> Generator[FakeBigQuery]:
    """Serve a FakeBigQuery on the loopback; its `url` is the service's address."""
    fake = FakeBigQuery()

    class Handler(BaseHTTPRequestHandler):
        def handle_request(self) -> None:
            split = urlsplit(self.path)
            size = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            query = {name: values[0] for name, values in parse_qs(split.query).items()}
            fake.tokens.append(self.headers.get("authorization", "").removeprefix("Bearer "))
            fake.agents.append(self.headers.get("user-agent", ""))
            status, answer = fake.answer(self.command, split.path, query, body)
            is_job = self.command == "POST" and "dryRun" not in (body or {}).get(
                "configuration", {}
            )
            if fake.breaks_after_insert and is_job:
                fake.breaks_after_insert = False
                self.close_connection = True
                return
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = handle_request

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        fake.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()

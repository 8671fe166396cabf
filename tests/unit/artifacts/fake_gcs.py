"""Cloud Storage in this process, as far as artifacts need it: the JSON API over HTTP, from the
standard library, with paging, preconditions and resumable uploads, and faults on request.

It speaks to the real google-cloud-storage client, so that what is tested is what users run.
"""

from __future__ import annotations

import base64
import email
import email.policy
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import google_crc32c
from google.auth.credentials import AnonymousCredentials

from ostinato.artifacts import GcsArtifactService

_TIME = 1_700_000_000


@dataclass
class Stored:
    """One object of the bucket."""

    name: str
    data: bytes
    content_type: str | None
    metadata: dict[str, str] | None
    generation: int

    def resource(self, bucket: str) -> dict[str, Any]:
        created = datetime.fromtimestamp(_TIME + self.generation, UTC)
        found = {
            "kind": "storage#object",
            "id": f"{bucket}/{self.name}/{self.generation}",
            "name": self.name,
            "bucket": bucket,
            "generation": str(self.generation),
            "metageneration": "1",
            "contentType": self.content_type,
            "size": str(len(self.data)),
            "crc32c": _crc32c(self.data),
            "timeCreated": created.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "metadata": self.metadata,
        }
        return {key: value for key, value in found.items() if value is not None}


@dataclass
class Fault:
    """What the next request that fits meets instead of, or after, its work.

    `method` and `path` say which requests: the HTTP method, and text that the path holds. `status`
    0 cuts the connection. `late` does the work first, so that only the answer is lost.
    """

    method: str
    path: str
    status: int
    times: int = 1
    late: bool = False


@dataclass
class FakeBucket:
    """The one bucket, its objects, and what was asked for."""

    name: str = "bucket"
    page_size: int = 1000
    objects: dict[str, Stored] = field(default_factory=dict[str, Stored])
    faults: list[Fault] = field(default_factory=list[Fault])
    requests: list[str] = field(default_factory=list[str])
    before: Callable[[str, str], None] = lambda method, path: None
    url: str = ""
    # What checksums of downloads are made from, where it is not the content.
    checksum_of: bytes | None = None

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.generations = itertools.count(1)
        self.uploads: dict[str, tuple[dict[str, Any], dict[str, str]]] = {}

    def fault_for(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times and fault.method == method and fault.path in path:
                    fault.times -= 1
                    return fault
        return None

    def put(self, resource: dict[str, Any], data: bytes, query: dict[str, str]) -> Any:
        """Store an object; 412 where it exists and must not."""
        name = str(resource["name"])
        if len(name.encode()) > 1024 or "\n" in name or "\r" in name:
            return 400, {"error": {"code": 400, "message": "invalid object name"}}
        with self.lock:
            if query.get("ifGenerationMatch") == "0" and name in self.objects:
                return 412, {"error": {"code": 412, "message": "conditionNotMet"}}
            kind = resource.get("contentType")
            stored = Stored(name, data, kind, resource.get("metadata"), next(self.generations))
            self.objects[name] = stored
            return 200, stored.resource(self.name)

    def listed(self, query: dict[str, str]) -> dict[str, Any]:
        prefix, after = query.get("prefix", ""), query.get("pageToken", "")
        size = min(int(query.get("maxResults", self.page_size)), self.page_size)
        with self.lock:
            found = sorted(n for n in self.objects if n.startswith(prefix) and n > after)
            if query.get("delimiter") == "/":
                found = [name for name in found if "/" not in name[len(prefix) :]]
            items = [self.objects[name].resource(self.name) for name in found[:size]]
        more = {"nextPageToken": found[size - 1]} if len(found) > size else {}
        return {"kind": "storage#objects", "items": items, **more}


def _multipart(headers: str, body: bytes) -> tuple[dict[str, Any], bytes]:
    """The resource and the bytes of a multipart/related upload."""
    message = email.message_from_bytes(
        b"Content-Type: " + headers.encode() + b"\r\n\r\n" + body, policy=email.policy.HTTP
    )
    boundary = message.get_boundary()
    assert boundary is not None
    # The email parser changes line ends of binary data, so the bytes are cut out by hand.
    _, first, second, _ = body.split(b"--" + boundary.encode())
    resource = json.loads(first.split(b"\r\n\r\n", 1)[1])
    head, data = second.split(b"\r\n\r\n", 1)
    kind = re.search(rb"content-type: *([^\r\n]+)", head, re.IGNORECASE)
    if kind and "contentType" not in resource:
        resource["contentType"] = kind[1].decode()
    return resource, data[:-2]


def _crc32c(data: bytes) -> str:
    """The checksum that Cloud Storage gives with every object."""
    return base64.b64encode(google_crc32c.Checksum(data).digest()).decode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    bucket: FakeBucket

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def _serve(self, method: str) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        place = f"{unquote(parts.path)}?{parts.query}"
        fault = None
        # The client asks for the bucket itself in a thread of its own, for its traces.
        if parts.path != f"/storage/v1/b/{self.bucket.name}":
            self.bucket.requests.append(f"{method} {place}")
            self.bucket.before(method, place)
            fault = self.bucket.fault_for(method, place)
        if fault is None or fault.late:
            status, answer, headers = self._work(method, parts.path, query, body)
        if fault is not None:
            if not fault.status:
                self.close_connection = True
                return
            status, headers = fault.status, {}
            message = f"the fake says {fault.status}"
            answer = json.dumps({"error": {"code": status, "message": message}}).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _work(
        self, method: str, path: str, query: dict[str, str], body: bytes
    ) -> tuple[int, bytes, dict[str, str]]:
        if path == f"/storage/v1/b/{self.bucket.name}":
            return _json(200, {"kind": "storage#bucket", "name": self.bucket.name})
        found = re.fullmatch(r"(/upload|/download)?/storage/v1/b/([^/]+)/o(?:/(.+))?", path)
        if found is None or unquote(found[2]) != self.bucket.name:
            return _json(404, {"error": {"code": 404, "message": "no such bucket"}})
        if found[1] == "/upload":
            return self._upload(query, body)
        if found[3] is None:
            return _json(200, self.bucket.listed(query))
        return self._object(method, unquote(found[3]), query, found[1] == "/download")

    def _object(
        self, method: str, name: str, query: dict[str, str], download: bool
    ) -> tuple[int, bytes, dict[str, str]]:
        with self.bucket.lock:
            stored = self.bucket.objects.get(name)
            asked = query.get("generation")
            if stored is None or (asked and asked != str(stored.generation)):
                return _json(404, {"error": {"code": 404, "message": "no such object"}})
            if method == "DELETE":
                del self.bucket.objects[name]
                return 204, b"", {}
        if download or query.get("alt") == "media":
            data, code, extra = stored.data, 200, dict[str, str]()
            extra["X-Goog-Hash"] = f"crc32c={_crc32c(self.bucket.checksum_of or data)}"
            extra["Content-Type"] = stored.content_type or "application/octet-stream"
            return code, data, extra
        return _json(200, stored.resource(self.bucket.name))

    def _upload(self, query: dict[str, str], body: bytes) -> tuple[int, bytes, dict[str, str]]:
        kind = query.get("uploadType")
        if kind == "multipart":
            resource, data = _multipart(self.headers["Content-Type"], body)
            return _json(*self.bucket.put(resource, data, query))
        if "upload_id" not in query:
            upload = str(len(self.bucket.uploads))
            resource = json.loads(body)
            resource.setdefault("contentType", self.headers.get("X-Upload-Content-Type"))
            self.bucket.uploads[upload] = (resource, query)
            where = f"{self.bucket.url}{self.path}&upload_id={upload}"
            return 200, b"", {"Location": where}
        resource, asked = self.bucket.uploads[query["upload_id"]]
        return _json(*self.bucket.put(resource, body, asked))


def _json(status: int, answer: Any) -> tuple[int, bytes, dict[str, str]]:
    return status, json.dumps(answer).encode(), {"Content-Type": "application/json"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the fake's."""


@contextmanager
def serving(**fields: Any) -> Iterator[FakeBucket]:
    """A bucket that answers at `url` for the length of the block."""
    bucket = FakeBucket(**fields)
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    server = _Server(("127.0.0.1", 0), handler)
    bucket.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def gcs_service(bucket: FakeBucket, **options: Any) -> GcsArtifactService:
    """A service on the fake, through the real client."""
    given = {
        "project": "project",
        "credentials": AnonymousCredentials(),
        "client_options": {"api_endpoint": bucket.url},
    }
    return GcsArtifactService(bucket.name, **{**given, **options})

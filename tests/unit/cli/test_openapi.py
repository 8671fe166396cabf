"""`ostinato openapi`: lists the tools of a document, and calls them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Ostinato
from tests.unit.tools.openapi.documents import make_document
from tests.unit.tools.openapi.recording_server import RecordingServer, serve_document

pytestmark = pytest.mark.long

DOCUMENT = make_document(
    {
        "/pets/{petId}": {
            "get": {
                "operationId": "getPet",
                "summary": "Get a pet.",
                "parameters": [{"name": "petId", "in": "path", "schema": {"type": "integer"}}],
                "security": [{"key": []}],
            }
        },
        "/pets": {"post": {"operationId": "addPet"}},
        "/openapi.json": {"get": {"operationId": "document"}},
    },
    components={"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
)


@pytest.fixture
def spec(tmp_path: Path) -> str:
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(DOCUMENT))
    return str(path)


@pytest.fixture(scope="module")
def server() -> Iterator[RecordingServer]:
    with serve_document(DOCUMENT) as running:
        yield running


class _Echo(BaseHTTPRequestHandler):
    """Answers with an error that repeats the headers of the request."""

    def do_GET(self) -> None:
        body = str(self.headers).encode()
        self.send_response(400)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


@pytest.fixture
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_the_list_names_tools_with_method_and_path(ostinato: Ostinato, spec: str) -> None:
    done = ostinato("openapi", "list", spec)
    assert done.code == 0
    assert "get_pet   GET     /pets/{petId}" in done.out and "Get a pet." in done.out
    assert "add_pet   POST    /pets" in done.out and "3 tools" in done.out


def test_the_list_as_json(ostinato: Ostinato, spec: str) -> None:
    found = {
        one["name"]: one for one in json.loads(ostinato("openapi", "list", spec, "--json").out)
    }
    assert found["add_pet"]["in_doubt"] == "at_most_once"
    assert found["get_pet"]["url"] == "https://api.example.com/v1/pets/{petId}"
    assert found["get_pet"]["parameters"]["required"] == ["pet_id"]


def test_one_tool_is_shown_with_its_arguments(ostinato: Ostinato, tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(f"# a comment\n{json.dumps(DOCUMENT)}")
    done = ostinato("openapi", "list", str(path), "get_pet")
    assert done.code == 0 and "method: GET" in done.out and '"pet_id"' in done.out


def test_a_call_prints_its_result(
    ostinato: Ostinato, spec: str, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "k-1")
    server.requests.clear()
    options = ("--base-url", server.url, "--allow-private", "--header", "X-Key: $SHOP_KEY")
    done = ostinato("openapi", "call", spec, "get_pet", '{"pet_id": 7}', *options)
    assert (done.code, json.loads(done.out)) == (0, {"ok": True})
    got = server.take()
    assert got.path == "/pets/7" and got.headers["x-key"] == "k-1"


@pytest.mark.parametrize("header", ["Authorization: hunter22", "X-Tenant: $SHOP_KEY"])
def test_no_header_of_the_command_line_is_shown_in_an_error(
    ostinato: Ostinato, spec: str, echo: str, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "hunter22")
    options = ("--base-url", echo, "--allow-private", "--header", header)
    done = ostinato("openapi", "call", spec, "get_pet", '{"pet_id": 7}', *options)
    assert done.code == 1 and "Status Code: 400" in done.out
    assert header.partition(":")[0].lower() in done.out.lower()
    assert "hunter22" not in done.out + done.err


def test_a_document_is_read_from_its_server(ostinato: Ostinato, server: RecordingServer) -> None:
    url = f"{server.url}/openapi.json"
    refused = ostinato("openapi", "list", url)
    assert refused.code == 1 and "only public addresses are requested" in refused.err
    done = ostinato("openapi", "list", url, "--allow-private")
    assert done.code == 1 and "is of version" in done.err  # the server says {"ok": true}


def test_private_addresses_are_refused(
    ostinato: Ostinato, spec: str, server: RecordingServer
) -> None:
    done = ostinato("openapi", "call", spec, "get_pet", '{"pet_id": 7}', "--base-url", server.url)
    assert done.code == 1 and "Tool get_pet execution failed" in done.out
    assert "does not lead to a public address" in done.out


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["list", "gone.json"], 2, "gone.json cannot be read"),
        (["list", "SPEC", "gone"], 2, "has no tool 'gone'"),
        (["call", "SPEC", "get_pet", "{"], 2, "this is not JSON"),
        (["call", "SPEC", "get_pet", '{"id": 1, "id": 2}'], 2, "a key twice"),
        (["call", "SPEC", "get_pet", "[]"], 2, "needs a JSON object"),
        (["call", "SPEC", "get_pet", "{}", "--header", "x"], 2, "write 'NAME: VALUE'"),
        (["call", "SPEC", "get_pet", "{}", "--header", "x: $NO_SUCH"], 2, "NO_SUCH is not set"),
    ],
)
def test_mistakes(ostinato: Ostinato, spec: str, words: list[str], code: int, why: str) -> None:
    done = ostinato("openapi", *[spec if word == "SPEC" else word for word in words])
    assert done.code == code and why in done.err


def test_a_broken_document_is_named(ostinato: Ostinato, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    done = ostinato("openapi", "list", "bad.json")
    assert done.code == 1 and "bad.json: The document is not valid JSON" in done.err

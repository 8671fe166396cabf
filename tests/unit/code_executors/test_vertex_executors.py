"""The executors of Vertex AI on a server that answers in the shapes of its REST reference."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator
from types import SimpleNamespace
from typing import Any

import google.auth
import pytest
from google.auth.exceptions import DefaultCredentialsError
from google.oauth2.credentials import Credentials

from ostinato import _google_retries, types
from ostinato._google_rest import GoogleApiError
from ostinato.agents import LlmAgent
from ostinato.code_executors import AgentEngineSandboxCodeExecutor, VertexAiCodeExecutor
from ostinato.code_executors._vertex_client import VertexError
from ostinato.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from ostinato.errors import AgentConfigError
from ostinato.models import BaseLlm, LlmRequest, LlmResponse
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from tests.support.dripping_server import HALF_HEADERS, HEADERS, drip_forever
from tests.wire.fake_server import Answer, FakeServer, Received

TOKEN = "secret-token"
PLACE = "projects/proj/locations/us-central1"
ENGINE = f"{PLACE}/reasoningEngines/456"
SANDBOX = f"{ENGINE}/sandboxEnvironments/789"
EXTENSION = f"{PLACE}/extensions/12"


class Answering(BaseLlm):
    """A model that writes code, and is done when it reads the result."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse]:
        is_told = "tool_output" in str(llm_request.contents[-1])
        text = "done" if is_told else "```python\nprint(1)\n```"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


def encode(data: str | bytes) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def failed(status: int, message: str) -> Answer:
    return Answer({"error": {"code": status, "message": message}}, status=status)


class Vertex:
    """Vertex AI.

    Attributes:
      asked: what came: method, path below the version, and JSON.
      outputs: what a sandbox answers.
      content: what an extension answers.
      state: of sandboxes.
      faults: answers in place of those to the next requests whose path ends so.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.logins: set[str] = set()
        self.outputs: list[dict[str, Any]] = []
        self.content: Any = json.dumps({"execution_result": "", "execution_error": ""})
        self.state = "STATE_RUNNING"
        self.faults: list[tuple[str, Answer]] = []
        self._made = {
            "sandboxEnvironments": SANDBOX,
            "reasoningEngines": ENGINE,
            "extensions:import": EXTENSION,
        }

    def answer(self, request: Received) -> Answer:
        self.logins.add(request.headers["authorization"])
        path = request.path.removeprefix("/v1beta1/")
        self.asked.append((request.method, path, request.json if request.body else None))
        if self.faults and path.endswith(self.faults[0][0]):
            return self.faults.pop(0)[1]
        if path.startswith("operations/"):
            return Answer({"done": True, "response": {"name": self._made[path[11:]]}})
        last = path.rpartition("/")[2]
        if request.method == "POST" and last in self._made:
            return Answer({"name": f"operations/{last}", "done": False})
        if path.endswith(f"{EXTENSION}:execute"):
            return Answer({"content": self.content})
        if last.endswith(":execute"):
            return Answer({"outputs": self.outputs})
        return Answer({"name": path, "state": self.state})

    def sent(self, ending: str) -> list[Any]:
        return [
            body for method, path, body in self.asked if method == "POST" and path.endswith(ending)
        ]


@pytest.fixture(name="vertex")
async def fixture_vertex(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Vertex]:
    async def pause(seconds: float) -> None:
        await asyncio.sleep(0)

    for name in ("CLOUD_PROJECT", "CLOUD_LOCATION"):
        monkeypatch.delenv(f"GOOGLE_{name}", raising=False)
    monkeypatch.delenv("CODE_INTERPRETER_EXTENSION_NAME", raising=False)
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(TOKEN), "proj"))
    monkeypatch.setattr(_google_retries, "pause", pause)
    vertex = Vertex()
    async with FakeServer(otherwise=vertex.answer) as server:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.url)
        yield vertex


def context(**state: Any) -> Any:
    return SimpleNamespace(session=SimpleNamespace(state=state))


async def run(executor: Any, *files: File, on: Any = None, **wanted: Any) -> CodeExecutionResult:
    given = CodeExecutionInput("print(1)", [*files], **wanted)
    return await executor.execute_code_async(on or context(), given)


async def test_a_sandbox_that_is_named_runs_the_code(vertex: Vertex) -> None:
    vertex.outputs = [
        {"mimeType": "application/json", "data": encode('{"msg_out": "1\\n", "msg_err": "e"}')},
        {
            "mimeType": "",
            "data": encode(b"\x89PNG"),
            "metadata": {"attributes": {"file_name": encode("plot.png")}},
        },
    ]
    given = await run(AgentEngineSandboxCodeExecutor(SANDBOX), File("a.csv", b"1,2", "text/csv"))
    assert (given.stdout, given.stderr) == ("1\n", "e")
    assert given.output_files == [File("plot.png", b"\x89PNG", "image/png")]
    assert vertex.asked == [
        (
            "POST",
            f"{SANDBOX}:execute",
            {
                "inputs": [
                    {"mimeType": "application/json", "data": encode('{"code": "print(1)"}')},
                    {
                        "mimeType": "text/csv",
                        "data": encode("1,2"),
                        "metadata": {"attributes": {"file_name": encode("a.csv")}},
                    },
                ]
            },
        )
    ]
    assert vertex.logins == {f"Bearer {TOKEN}"}


async def test_each_session_gets_a_sandbox_of_its_own_which_is_kept(vertex: Vertex) -> None:
    executor, session = AgentEngineSandboxCodeExecutor(), context()
    await asyncio.gather(run(executor), run(executor, on=session))
    await run(executor, on=session)
    assert session.session.state["sandbox_name"] == SANDBOX
    assert executor.agent_engine_resource_name == ENGINE
    assert vertex.sent(f"{PLACE}/reasoningEngines") == [{"displayName": "ostinato code sandboxes"}]
    assert vertex.sent(f"{ENGINE}/sandboxEnvironments") == 2 * [
        {
            "displayName": "default_sandbox",
            "spec": {"codeExecutionEnvironment": {}},
            "ttl": "31536000s",
        }
    ]


@pytest.mark.parametrize(
    "known",
    [
        SANDBOX,  # of which the service says that it has ended
        f"{PLACE}/reasoningEngines/999/sandboxEnvironments/789",
        "../../other:delete",
        {"no": "name"},
    ],
)
async def test_a_sandbox_that_cannot_be_used_is_replaced(vertex: Vertex, known: Any) -> None:
    vertex.state = "STATE_DELETED"
    session = context(sandbox_name=known)
    await run(AgentEngineSandboxCodeExecutor(agent_engine_resource_name=ENGINE), on=session)
    assert session.session.state["sandbox_name"] == SANDBOX
    assert [path for _, path, _ in vertex.asked if path == known] == (
        [SANDBOX] if known == SANDBOX else []
    )


async def test_the_next_process_finds_a_sessions_sandbox(vertex: Vertex) -> None:
    service = InMemorySessionService()
    for _ in range(2):
        executor = AgentEngineSandboxCodeExecutor(agent_engine_resource_name=ENGINE)
        agent = LlmAgent(name="a", model=Answering(model="m"), code_executor=executor)
        runner = Runner(app_name="app", agent=agent, session_service=service)
        session = await service.get_session(app_name="app", user_id="u", session_id="s")
        if session is None:
            await service.create_session(app_name="app", user_id="u", session_id="s")
        message = types.Content(role="user", parts=[types.Part(text="go")])
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass
    assert len(vertex.sent("/sandboxEnvironments")) == 1
    assert len(vertex.sent(f"{SANDBOX}:execute")) == 2


async def test_a_sandbox_that_is_gone_is_replaced(vertex: Vertex) -> None:
    vertex.faults = [(SANDBOX, failed(404, "gone"))]
    await run(
        AgentEngineSandboxCodeExecutor(agent_engine_resource_name=ENGINE),
        on=context(sandbox_name=SANDBOX),
    )
    assert len(vertex.sent("/sandboxEnvironments")) == 1


async def test_without_an_event_loop_it_blocks(vertex: Vertex) -> None:
    executor = AgentEngineSandboxCodeExecutor(SANDBOX)
    wanted = CodeExecutionInput("print(1)")
    assert await asyncio.to_thread(executor.execute_code, context(), wanted) is not None
    assert len(vertex.asked) == 1


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (AgentEngineSandboxCodeExecutor, ENGINE),
        (AgentEngineSandboxCodeExecutor, f"{SANDBOX}/../1"),
        (VertexAiCodeExecutor, "456"),
        (VertexAiCodeExecutor, f"{EXTENSION}:delete?x"),
    ],
)
def test_a_resource_name_of_another_form_is_refused(kind: Any, name: str) -> None:
    with pytest.raises(ValueError, match="is not valid"):
        kind(name)


async def test_the_extension_runs_code_with_files(vertex: Vertex) -> None:
    vertex.content = json.dumps(
        {
            "execution_result": "1\n",
            "execution_error": "",
            "output_files": [
                {"name": "a.jpg", "contents": encode("x")},
                {"name": "b.csv", "contents": encode("y")},
                {"name": "c.txt", "contents": encode("z")},
                {"name": "d", "contents": encode("z")},
            ],
        }
    )
    given = await run(
        VertexAiCodeExecutor(EXTENSION), File("a.csv", b"1", "text/csv"), execution_id="s1"
    )
    assert (given.stdout, given.stderr) == ("1\n", "")
    assert [(one.read_bytes(), one.mime_type) for one in given.output_files] == [
        (b"x", "image/jpg"),
        (b"y", "text/csv"),
        (b"z", "text/plain"),
        (b"z", "application/octet-stream"),
    ]
    ((method, path, body),) = vertex.asked
    assert (method, path, body["operationId"]) == ("POST", f"{EXTENSION}:execute", "execute")
    parameters = body["operationParams"]
    assert parameters["files"] == [{"name": "a.csv", "contents": encode("1")}]
    assert parameters["session_id"] == "s1" and parameters["code"].endswith("\nprint(1)\n")
    names = compile(parameters["code"], "code", "exec").co_names
    assert {"io", "math", "re", "plt", "np", "pd", "scipy", "crop", "explore_df"} <= {*names}


async def test_the_extension_is_imported_once_if_none_is_named(
    vertex: Vertex, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = VertexAiCodeExecutor()
    await asyncio.gather(run(executor), run(executor))
    (sent,) = vertex.sent("extensions:import")
    assert sent["manifest"]["apiSpec"] == {
        "openApiGcsUri": "gs://vertex-extension-public/code_interpreter.yaml"
    }
    assert executor.resource_name == EXTENSION
    monkeypatch.setenv("CODE_INTERPRETER_EXTENSION_NAME", EXTENSION)
    assert VertexAiCodeExecutor().resource_name == EXTENSION


async def test_what_is_no_result_is_an_error(vertex: Vertex) -> None:
    for content in ("not JSON", "[]", '{"output_files": [1]}', None):
        vertex.content = content
        with pytest.raises(VertexError, match="no result of code"):
            await run(VertexAiCodeExecutor(EXTENSION))


async def test_what_passes_is_asked_again_but_code_runs_once(vertex: Vertex) -> None:
    executor = AgentEngineSandboxCodeExecutor(SANDBOX)
    vertex.faults = [(":execute", failed(503, "busy"))] * 3
    await run(executor)
    assert len(vertex.asked) == 4
    vertex.faults = [(":execute", failed(500, f"broken {TOKEN}"))]
    with pytest.raises(VertexError, match=r"with 500: broken \*\*\*$") as caught:
        await run(executor)
    assert len(vertex.asked) == 5 and caught.value.status == 500
    vertex.faults = [(":execute", Answer(cut_after=0, headers={"content-length": "9"}))]
    with pytest.raises(VertexError, match="did not answer"):
        await run(executor)
    assert len(vertex.asked) == 6


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (failed(403, "no"), "with 403: no Give the account the role"),
        (failed(404, "no"), "Check the resource name"),
        (Answer("<html>"), "is not JSON"),
        (Answer("[" * 100_000 + "]" * 100_000), "is not JSON"),
        (Answer("null"), "no object"),
        (Answer("[1, 2]"), "no object"),
        (Answer({"outputs": 5}), f"sandbox {SANDBOX} answered .*outputs: Input should be"),
        (Answer({"outputs": [5]}), r"outputs\.0: it is not an object"),
        (Answer({"outputs": [{"data": "a"}]}), r"outputs\.0\.data: Base64 decoding error"),
        (Answer({"outputs": [{"mimeType": "application/json"}]}), "no result of code"),
        (
            Answer({"outputs": [{"mimeType": "application/json", "data": encode("[5]")}]}),
            "the whole: it is not an object",
        ),
        (failed(400, "no key=AIzaSyA1234567890123456789012345678901234"), r"key=\[redacted\]$"),
    ],
)
async def test_a_refusal_says_what_to_do(vertex: Vertex, answer: Answer, told: str) -> None:
    vertex.faults = [(":execute", answer)]
    with pytest.raises(VertexError, match=told) as caught:
        await run(AgentEngineSandboxCodeExecutor(SANDBOX))
    assert isinstance(caught.value, GoogleApiError)


@pytest.mark.parametrize("first", [HEADERS, HALF_HEADERS])
async def test_an_answer_that_comes_by_bytes_has_a_time_limit(
    vertex: Vertex, monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    with drip_forever(first) as url:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", url)
        with pytest.raises(VertexError, match=r"did not answer .* within 0\.05 s"):
            await run(AgentEngineSandboxCodeExecutor(SANDBOX, timeout_seconds=0.05))


@pytest.mark.parametrize(
    "operation",
    [
        {"done": True},
        {"done": True, "response": 5},
        {"done": True, "response": {"name": 5}},
        {"done": True, "error": 5},
        {"done": False},
        {"done": False, "name": 5},
    ],
)
async def test_an_operation_of_another_shape_is_an_error(vertex: Vertex, operation: Any) -> None:
    vertex.faults = [("/sandboxEnvironments", Answer(operation))]
    with pytest.raises(VertexError, match=r"Vertex AI (answered|did not name)"):
        await run(AgentEngineSandboxCodeExecutor(agent_engine_resource_name=ENGINE))


async def test_an_operation_that_fails_is_an_error(vertex: Vertex) -> None:
    vertex.faults = [
        ("operations/sandboxEnvironments", Answer({"done": True, "error": {"message": "full"}}))
    ]
    with pytest.raises(VertexError, match="did not do what was asked: full"):
        await run(AgentEngineSandboxCodeExecutor(agent_engine_resource_name=ENGINE))
    never = Answer({"name": "operations/sandboxEnvironments"})
    vertex.faults = [("operations/sandboxEnvironments", never)] * 99
    with pytest.raises(VertexError, match="did not finish"):
        await run(AgentEngineSandboxCodeExecutor(agent_engine_resource_name=ENGINE))


async def test_without_a_login_or_a_project_the_error_says_so(
    vertex: Vertex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(TOKEN), None))
    with pytest.raises(AgentConfigError, match="set GOOGLE_CLOUD_PROJECT"):
        await run(VertexAiCodeExecutor())

    def fail(**_: Any) -> Any:
        raise DefaultCredentialsError("with details")

    monkeypatch.setattr(google.auth, "default", fail)
    with pytest.raises(AgentConfigError, match="gcloud auth application-default login"):
        await run(AgentEngineSandboxCodeExecutor(SANDBOX))
    assert vertex.asked == []

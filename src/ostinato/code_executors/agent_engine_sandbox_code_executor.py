"""Executor that runs a model's code in a sandbox of Agent Engine, a service of Vertex AI."""

from __future__ import annotations

import base64
import json
import re
from mimetypes import guess_type
from typing import Any

from pydantic import Base64Bytes, BaseModel, Field, PrivateAttr

from .._google_rest import read_record
from .._log import get_logger
from ..context.invocation import InvocationContext
from ..features.environment import find_variable
from ..models.google_credentials import GoogleCredential
from ._remote_code_executor import RemoteCodeExecutor
from ._vertex_client import DEFAULT_LOCATION, VertexClient, VertexError
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult, File
from .code_executor_context import read_executor_value, store_executor_value

logger = get_logger(__name__)

_ENGINE = re.compile(r"projects/[a-zA-Z0-9_-]+/locations/([a-zA-Z0-9_-]+)/reasoningEngines/\d+")
_SANDBOX = re.compile(rf"{_ENGINE.pattern}/sandboxEnvironments/\d+")
_STATE_KEY = "sandbox_name"
_LIFETIME = "31536000s"  # a year, as sessions of Agent Engine have
_TIMEOUT_S = 300.0


class AgentEngineSandboxCodeExecutor(RemoteCodeExecutor):
    """Runs Python code in a sandbox of Agent Engine (extra `vertex`).

    A sandbox keeps variables and files from run to run. Without `sandbox_resource_name` each
    session gets its own, whose name is stored with the session; a sandbox of another engine is not
    used. Google bounds time, memory and network of the code.

    Args:
      sandbox_resource_name: a sandbox for all sessions, as
        `projects/123/locations/us-central1/reasoningEngines/456/sandboxEnvironments/789`.
      agent_engine_resource_name: the engine in which sandboxes are made; without it the first run
        makes an engine in GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION.
      **data: the attributes of every executor; `timeout_seconds` is how long an answer may take
        (300 if None).

    Raises:
      ValueError: a resource name has another form.
    """

    sandbox_resource_name: str | None = None
    agent_engine_resource_name: str | None = None

    _location: str = PrivateAttr()
    _credential: GoogleCredential = PrivateAttr(default_factory=GoogleCredential)

    def __init__(
        self,
        sandbox_resource_name: str | None = None,
        agent_engine_resource_name: str | None = None,
        **data: Any,
    ) -> None:
        super().__init__(**data)
        self._location = find_variable("GOOGLE_CLOUD_LOCATION")[1] or DEFAULT_LOCATION
        if sandbox_resource_name is not None:
            self._location = _read_location(sandbox_resource_name, _SANDBOX)
            self.sandbox_resource_name = sandbox_resource_name
        elif agent_engine_resource_name is not None:
            self._location = _read_location(agent_engine_resource_name, _ENGINE)
            self.agent_engine_resource_name = agent_engine_resource_name

    async def execute_code_async(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run the code; see the class.

        Raises:
          VertexError: the service refused, failed or cannot be reached.
          AgentConfigError: there is no login, or no project.
          MissingExtraError: google-auth is not installed.
        """
        seconds = self.timeout_seconds or _TIMEOUT_S
        async with VertexClient(self._credential, self._location, seconds) as client:
            name = self.sandbox_resource_name
            if name is None:
                name = await self._open_sandbox(client, invocation_context)
            answer = await client.ask(
                "POST",
                f"{name}:execute",
                {"inputs": _write_inputs(code_execution_input)},
                repeatable=False,
            )
        return _read_outputs(read_record(_Answer, answer, f"The sandbox {name}", VertexError))

    async def _open_sandbox(self, client: VertexClient, context: InvocationContext) -> str:
        """Return the session's sandbox; make one if it has none that runs."""
        async with self._gate():
            engine = self.agent_engine_resource_name
            if engine is None:
                parent = await client.find_parent()
                logger.info("Creating an Agent Engine for code sandboxes in %s.", parent)
                made = await client.ask(
                    "POST",
                    f"{parent}/reasoningEngines",
                    {"displayName": "ostinato code sandboxes"},
                    repeatable=False,
                )
                engine = await client.wait_for_resource(made)
                logger.info("Created the Agent Engine %s; name it to use it again.", engine)
                self.agent_engine_resource_name = engine
            state = context.session.state
            known = state.get(_STATE_KEY) or read_executor_value(state, _STATE_KEY)
            if await _is_running(client, engine, known):
                return str(known)
            # The same lifetime as google-adk's; Google drops the state of one that is not used.
            body: dict[str, Any] = {
                "displayName": "default_sandbox",
                "spec": {"codeExecutionEnvironment": {}},
                "ttl": _LIFETIME,
            }
            made = await client.ask("POST", f"{engine}/sandboxEnvironments", body, repeatable=False)
            name = await client.wait_for_resource(made)
            state[_STATE_KEY] = name
            store_executor_value(state, _STATE_KEY, name)
            return name


async def _is_running(client: VertexClient, engine: str, name: object) -> bool:
    """Return whether a session's state names a sandbox that can be used."""
    if not isinstance(name, str) or not _SANDBOX.fullmatch(name):
        return False
    # A state may come from a client; it must not lead into another engine's sandbox.
    if name.partition("/reasoningEngines/")[2].split("/")[0] != engine.rpartition("/")[2]:
        return False
    try:
        return (await client.ask("GET", name)).get("state") == "STATE_RUNNING"
    except VertexError as error:
        if error.status != 404:
            raise
        return False


def _read_location(name: str, pattern: re.Pattern[str]) -> str:
    found = pattern.fullmatch(name)
    if found is None:
        raise ValueError(
            f"resource name {name} is not valid. Its form is projects/P/locations/L/"
            "reasoningEngines/NUMBER, with /sandboxEnvironments/NUMBER for a sandbox."
        )
    return found[1]


def _write_inputs(wanted: CodeExecutionInput) -> list[dict[str, Any]]:
    inputs: list[dict[str, Any]] = [
        {"mimeType": "application/json", "data": _encode(json.dumps({"code": wanted.code}))}
    ]
    inputs += [
        {
            "mimeType": file.mime_type,
            "data": base64.b64encode(file.read_bytes()).decode(),
            "metadata": {"attributes": {"file_name": _encode(file.name)}},
        }
        for file in wanted.input_files
    ]
    return inputs


class _Metadata(BaseModel):
    attributes: dict[str, str] = Field(default_factory=dict[str, str])


class _Output(BaseModel):
    data: Base64Bytes = b""
    mime_type: str = Field(default="", alias="mimeType")
    metadata: _Metadata = Field(default_factory=_Metadata)


class _Answer(BaseModel):
    outputs: list[_Output] = Field(default_factory=list[_Output])


class _Printed(BaseModel):
    stdout: str = Field(default="", alias="msg_out")
    stderr: str = Field(default="", alias="msg_err")


def _read_outputs(answer: _Answer) -> CodeExecutionResult:
    result = CodeExecutionResult()
    for output in answer.outputs:
        attributes = output.metadata.attributes
        try:
            name = base64.b64decode(attributes.get("file_name", "")).decode("utf-8", "replace")
            if output.mime_type == "application/json" and "file_name" not in attributes:
                value = json.loads(output.data)
                printed = read_record(_Printed, value, "The sandbox", VertexError)
                result.stdout, result.stderr = printed.stdout, printed.stderr
                continue
        except (ValueError, RecursionError) as error:
            raise VertexError(
                "The sandbox answered with something that is no result of code."
            ) from error
        mime_type = output.mime_type or guess_type(name)[0] or "application/octet-stream"
        result.output_files.append(File(name, output.data, mime_type))
    return result


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

"""Executor that runs a model's code in the Code Interpreter extension of Vertex AI."""

from __future__ import annotations

import base64
import json
import re
from mimetypes import guess_type
from typing import Any, cast

from pydantic import PrivateAttr

from .._log import get_logger
from ..context.invocation import InvocationContext
from ..features.environment import find_variable
from ..models.google_credentials import GoogleCredential
from ._remote_code_executor import RemoteCodeExecutor
from ._vertex_client import DEFAULT_LOCATION, VertexClient, VertexError
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult, File

logger = get_logger(__name__)

_VARIABLE = "CODE_INTERPRETER_EXTENSION_NAME"
_NAME = re.compile(r"projects/[^/\s]+/locations/([a-z0-9-]+)/extensions/[^/\s:]+")
_TIMEOUT_S = 300.0
_EXTENSION: dict[str, Any] = {
    "displayName": "Code Interpreter",
    "description": "Executes code",
    "manifest": {
        "name": "code_interpreter_tool",
        "description": "Google Code Interpreter Extension",
        "apiSpec": {"openApiGcsUri": "gs://vertex-extension-public/code_interpreter.yaml"},
        "authConfig": {
            "authType": "GOOGLE_SERVICE_ACCOUNT_AUTH",
            "googleServiceAccountConfig": {},
        },
    },
}
# Kinds of files whose MIME type google-adk makes of the ending.
_KINDS = {"png": "image", "jpg": "image", "jpeg": "image", "csv": "text"}
# The names that code may use without importing them, as google-adk has them.
_PRELUDE = '''
import io
import math
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy


def crop(s, max_chars=64):
    """Shorten a text."""
    return s if len(s) <= max_chars else s[: max_chars - 3] + "..."


def explore_df(df):
    """Print size, columns, types and values of a table."""
    print(f"Total rows: {len(df)}\\nTotal columns: {len(df.columns)}\\n")
    rows = [
        {
            "Columns": name,
            "Dtype": df[name].dtype,
            "Non-Null Count": f"{df[name].notna().sum()} / {len(df)} non-null",
            "Unique Values Count": df[name].nunique(),
            "Unique Values": crop(str(list(df[name].unique()))),
        }
        for name in df.columns
    ]
    print(pd.DataFrame(rows).set_index("Columns").to_string() if rows else "")

'''


class VertexAiCodeExecutor(RemoteCodeExecutor):
    """Runs Python code in the Code Interpreter extension of Vertex AI (extra `vertex`).

    Google has announced the end of extensions for November 2026; `AgentEngineSandboxCodeExecutor`
    takes their place. The code may use numpy, pandas, scipy and matplotlib as `np`, `pd`, `scipy`
    and `plt`, and `explore_df`. If `stateful`, variables live on within a session.

    Args:
      resource_name: the extension, as `projects/123/locations/us-central1/extensions/456`; without
        it CODE_INTERPRETER_EXTENSION_NAME. If neither is there, the first run imports the
        extension into GOOGLE_CLOUD_PROJECT and logs its name.
      **data: the attributes of every executor; `timeout_seconds` is how long an answer may take
        (300 if None).

    Raises:
      ValueError: the resource name has another form.
    """

    resource_name: str | None = None

    _credential: GoogleCredential = PrivateAttr(default_factory=GoogleCredential)

    def __init__(self, resource_name: str | None = None, **data: Any) -> None:
        super().__init__(**data)
        self.resource_name = resource_name or find_variable(_VARIABLE)[1] or None
        if self.resource_name is not None:
            _read_location(self.resource_name)

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
        wanted = code_execution_input
        parameters: dict[str, Any] = {"code": f"{_PRELUDE}\n{wanted.code}\n"}
        if wanted.input_files:
            parameters["files"] = [
                {"name": file.name, "contents": base64.b64encode(file.read_bytes()).decode()}
                for file in wanted.input_files
            ]
        if wanted.execution_id:
            parameters["session_id"] = wanted.execution_id
        location = _read_location(self.resource_name) if self.resource_name else DEFAULT_LOCATION
        seconds = self.timeout_seconds or _TIMEOUT_S
        async with VertexClient(self._credential, location, seconds) as client:
            name = await self._find_extension(client)
            answer = await client.ask(
                "POST",
                f"{name}:execute",
                {"operationId": "execute", "operationParams": parameters},
                repeatable=False,
            )
        return _read_answer(answer, name)

    async def _find_extension(self, client: VertexClient) -> str:
        async with self._gate():
            if self.resource_name is None:
                parent = await client.find_parent()
                made = await client.ask(
                    "POST", f"{parent}/extensions:import", _EXTENSION, repeatable=False
                )
                self.resource_name = await client.wait_for_resource(made)
                logger.info(
                    "Imported the extension %s; name it in %s to use it again.",
                    self.resource_name,
                    _VARIABLE,
                )
            return self.resource_name


def _read_location(name: str) -> str:
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(
            f"resource name {name} is not valid. Its form is "
            "projects/P/locations/us-central1/extensions/NUMBER."
        )
    return found[1]


def _read_answer(answer: dict[str, Any], name: str) -> CodeExecutionResult:
    try:
        told = cast("dict[str, Any]", json.loads(answer["content"]))
        files = [
            File(one["name"], one["contents"], _guess_kind(one["name"]))
            for one in told.get("output_files") or ()
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise VertexError(
            f"Vertex AI answered {name} with something that is no result of code."
        ) from error
    return CodeExecutionResult(
        told.get("execution_result") or "", told.get("execution_error") or "", files
    )


def _guess_kind(name: str) -> str:
    ending = name.rpartition(".")[2]
    if ending in _KINDS:
        return f"{_KINDS[ending]}/{ending}"
    return guess_type(name)[0] or "application/octet-stream"

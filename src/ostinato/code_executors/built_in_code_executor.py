"""Executor that leaves running code to the model's own service."""

from __future__ import annotations

import re

from .. import types
from ..context.invocation import InvocationContext
from ..models.llm_request import LlmRequest
from .base_code_executor import BaseCodeExecutor
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult

# The version, or an alias such as gemini-flash-latest, which has none and is always a newer one.
_GEMINI = re.compile(r"(?:.*/)?gemini-(?:(?P<version>\d+)\b|.*-latest$)")


class BuiltInCodeExecutor(BaseCodeExecutor):
    """Gemini's own code execution (Spec 1 §16, FEATURES row 166)."""

    def execute_code(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Raise NotImplementedError: the service has run the code before we see it."""
        raise NotImplementedError(
            "BuiltInCodeExecutor runs no code here: the model's service does, within its answer. "
            "Use UnsafeLocalCodeExecutor, or an executor of yours, to run code."
        )

    def process_llm_request(self, llm_request: LlmRequest) -> None:
        """Add the code execution tool to a request.

        Raises:
          ValueError: the model is not a Gemini of version 2 or later.
        """
        found = _GEMINI.match(llm_request.model or "")
        if not found or int(found["version"] or 2) < 2:
            raise ValueError(
                f"Gemini code execution tool is not supported for model {llm_request.model}: it "
                "needs a Gemini of version 2 or later. Choose one, or give the agent another "
                "code_executor."
            )
        llm_request.config.tools = [
            *(llm_request.config.tools or []),
            types.Tool(code_execution=types.ToolCodeExecution()),
        ]

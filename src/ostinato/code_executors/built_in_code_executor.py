"""Executor that leaves running code to the model's own service."""

from __future__ import annotations

from .. import types
from ..context.invocation import InvocationContext
from ..models.llm_request import LlmRequest
from ..models.model_names import is_gemini_model_id_check_disabled, is_new_gemini
from .base_code_executor import BaseCodeExecutor
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult


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
          ValueError: the model is not a Gemini of version 2 or later, and the environment variable
            ADK_DISABLE_GEMINI_MODEL_ID_CHECK does not let any name pass.
        """
        if not is_new_gemini(llm_request.model) and not is_gemini_model_id_check_disabled():
            raise ValueError(
                f"Gemini code execution tool is not supported for model {llm_request.model}: it "
                "needs a Gemini of version 2 or later. Choose one, give the agent another "
                "code_executor, or set ADK_DISABLE_GEMINI_MODEL_ID_CHECK=true if the model is one."
            )
        llm_request.config.tools = [
            *(llm_request.config.tools or []),
            types.Tool(code_execution=types.ToolCodeExecution()),
        ]

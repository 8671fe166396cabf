"""Port of code executors; the code execution processors of the flow call it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod

from pydantic import BaseModel, ConfigDict

from ..context.invocation import InvocationContext
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult


class BaseCodeExecutor(BaseModel):
    """Runs code that a model wrote (Spec 1 §16).

    Attributes:
      optimize_data_file: take CSV files out of the messages, hand them to the code as files and
        look into them before the model is called.
      stateful: variables live on from one run of code to the next of the same execution id.
      error_retry_attempts: runs of code in a row that may fail within one invocation; after them
        code is no longer run. At least one is.
      code_block_delimiters: pairs of texts that open and close a block of code in an answer; the
        first pair is also used to show run code to the model.
      execution_result_delimiters: texts around a result that is shown to the model.
      timeout_seconds: time one run may take, seconds; None leaves it to the executor.
    """

    model_config = ConfigDict(validate_default=False, defer_build=True)

    optimize_data_file: bool = False
    stateful: bool = False
    error_retry_attempts: int = 2
    code_block_delimiters: list[tuple[str, str]] = [
        ("```tool_code\n", "\n```"),
        ("```python\n", "\n```"),
    ]
    execution_result_delimiters: tuple[str, str] = ("```tool_output\n", "\n```")
    timeout_seconds: float | None = None

    @abstractmethod
    def execute_code(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run the code and wait for it.

        Args:
          invocation_context: the run.
          code_execution_input: the code, its files and its execution id.

        Returns:
          What it printed and the files it made; text in `stderr` means that it failed.
        """

    async def execute_code_async(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run `execute_code` in a worker thread, so that it does not block the event loop.

        A cancelled caller returns at once, but the thread runs to its end: an executor that can
        stop its work overrides this.
        """
        return await asyncio.to_thread(self.execute_code, invocation_context, code_execution_input)

"""Base of the executors whose code runs behind an HTTP API."""

from __future__ import annotations

import asyncio
import weakref
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor

from pydantic import PrivateAttr

from ..context.invocation import InvocationContext
from .base_code_executor import BaseCodeExecutor
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult


class RemoteCodeExecutor(BaseCodeExecutor):
    """Runs code behind an HTTP API; a subclass asks it without blocking the event loop."""

    _gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = PrivateAttr(
        default_factory=weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
    )

    def execute_code(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run the code and wait for it; see the class."""
        with ThreadPoolExecutor(1) as pool:  # the caller's thread may have an event loop
            work = self.execute_code_async(invocation_context, code_execution_input)
            return pool.submit(asyncio.run, work).result()

    @abstractmethod
    async def execute_code_async(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run the code; a cancelled caller returns at once."""

    def _gate(self) -> asyncio.Lock:
        """Return the lock of the running loop, under which resources are made."""
        return self._gates.setdefault(asyncio.get_running_loop(), asyncio.Lock())

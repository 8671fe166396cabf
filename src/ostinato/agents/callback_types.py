"""Types of callbacks for type checkers: plain or async functions that take named arguments.

The runtime passes every argument by name, so a function needs exactly these names, or `**kwargs`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

from .. import types
from ..context.context import Context
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..tools.base_tool import BaseTool

T = TypeVar("T")
K = TypeVar("K")

Answer = T | None | Awaitable[T | None]
"""What a callback returns: an answer, or None to continue; or an awaitable of it."""

OneOrMore = K | list[K] | None


class AgentCallback(Protocol):
    """Runs before or after an agent; a Content replaces its output, or is added to it."""

    def __call__(self, *, callback_context: Context) -> Answer[types.Content]: ...


class BeforeModel(Protocol):
    """Runs before a model call; a response replaces the call."""

    def __call__(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> Answer[LlmResponse]: ...


class AfterModel(Protocol):
    """Runs after a model call; a response replaces the model's."""

    def __call__(
        self, *, callback_context: Context, llm_response: LlmResponse
    ) -> Answer[LlmResponse]: ...


class OnModelError(Protocol):
    """Runs when a model call fails; a response replaces the error."""

    def __call__(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> Answer[LlmResponse]: ...


class BeforeTool(Protocol):
    """Runs before a tool; a result replaces the call."""

    def __call__(
        self, *, tool: BaseTool, args: dict[str, Any], tool_context: Context
    ) -> Answer[Any]: ...


class AfterTool(Protocol):
    """Runs after a tool; a result replaces the tool's."""

    def __call__(
        self, *, tool: BaseTool, args: dict[str, Any], tool_context: Context, tool_response: Any
    ) -> Answer[Any]: ...


class OnToolError(Protocol):
    """Runs when a tool fails; a result replaces the error."""

    def __call__(
        self, *, tool: BaseTool, args: dict[str, Any], tool_context: Context, error: Exception
    ) -> Answer[Any]: ...

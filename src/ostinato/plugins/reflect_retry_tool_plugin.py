"""ReflectAndRetryToolPlugin: a tool's error goes to the model, which may try again, some times."""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic import BaseModel

from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..tools.base_tool import BaseTool
from ._failure_counts import GLOBAL_SCOPE as GLOBAL_SCOPE_KEY
from ._failure_counts import FailureCounts, TrackingScope, checked_retries
from ._failure_counts import PerToolFailuresCounter as PerToolFailuresCounter
from .base_plugin import BasePlugin

REFLECT_AND_RETRY_RESPONSE_TYPE = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"
_LONGEST_ARGUMENTS = 2000


class ToolFailureResponse(BaseModel):
    """What the model is told of a tool that failed.

    Attributes:
      response_type: tells these responses from a tool's own.
      error_type: class of the exception; "ToolError" for an error in a result.
      error_details: its message.
      retry_count: failures of this tool in a row.
      reflection_guidance: what the model is to do now.
    """

    response_type: str = REFLECT_AND_RETRY_RESPONSE_TYPE
    error_type: str = ""
    error_details: str = ""
    retry_count: int = 0
    reflection_guidance: str = ""


class ReflectAndRetryToolPlugin(BasePlugin):
    """Hands a tool's error to the model with advice, so that it can call again (FEATURES row 158).

    Failures in a row are counted per tool; a success starts over. When the retries are used up, the
    tool's own exception is passed on to the next hooks, then to the caller.

    Override `extract_error_from_result` for tools that return their errors, and `_get_scope_key`
    to count by something else.

    Args:
      name: unique among an app's plugins.
      max_retries: failures in a row that the model may mend, per tool; 0 for none.
      throw_exception_if_retry_exceeded: whether a run ends when they are used up; else the model is
        told to stop using the tool.
      tracking_scope: whether each run counts by itself, or all together.

    Raises:
      ValueError: `max_retries` is negative.
    """

    def __init__(
        self,
        name: str = "reflect_retry_tool_plugin",
        max_retries: int = 3,
        throw_exception_if_retry_exceeded: bool = True,
        tracking_scope: TrackingScope = TrackingScope.INVOCATION,
    ) -> None:
        super().__init__(name)
        self.max_retries = checked_retries(name, max_retries)
        self.throw_exception_if_retry_exceeded = throw_exception_if_retry_exceeded
        self.scope = tracking_scope
        self._counts = FailureCounts()

    async def extract_error_from_result(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> dict[str, Any] | None:
        """Return the error that a tool's result stands for, or None; override it as you need."""
        return None

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> dict[str, Any] | None:
        """Count an error in a result; start over after a success.

        Raises:
          RuntimeError: the result is an error and the retries are used up.
        """
        if _is_ours(result):
            return None
        error = await self.extract_error_from_result(
            tool=tool, tool_args=tool_args, tool_context=tool_context, result=result
        )
        if not error:
            self._counts.reset(self._get_scope_key(tool_context), tool.name)
            return None
        answer = self._answer(tool, tool_args, tool_context, error)
        if answer is None:
            raise RuntimeError(
                f"Tool {tool.name!r} failed more than {self.max_retries} times in a row: {error}"
            )
        return answer

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        """Answer for a tool that raised.

        Raises:
          Exception: `error` itself, once its retries are used up; the run then ends with it.
        """
        answer = self._answer(tool, tool_args, tool_context, error)
        if answer is None:
            error.add_note(
                f"Plugin {self.name!r} let the model try tool {tool.name!r} again "
                f"{self.max_retries} times before."
            )
            raise error
        return answer

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self._counts.drop(invocation_context.invocation_id)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        self._counts.drop(invocation_context.invocation_id)

    def _get_scope_key(self, tool_context: ToolContext) -> str:
        """Return the key under which failures are counted together."""
        if self.scope is TrackingScope.GLOBAL:
            return GLOBAL_SCOPE_KEY
        return tool_context.invocation_id

    def _answer(
        self, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Any
    ) -> dict[str, Any] | None:
        """Count a failure and return what to tell the model, or None if the run is to end."""
        count = self._counts.add(self._get_scope_key(tool_context), tool.name)
        if count <= self.max_retries:
            guidance = _advice(tool.name, tool_args, error, count, self.max_retries)
        elif self.throw_exception_if_retry_exceeded:
            return None
        else:
            count = self.max_retries
            guidance = _stop(tool.name, error)
        is_raised = isinstance(error, Exception)
        return ToolFailureResponse(
            error_type=type(error).__name__ if is_raised else "ToolError",
            error_details=str(error),
            retry_count=count,
            reflection_guidance=guidance,
        ).model_dump(mode="json")


def _is_ours(result: Any) -> bool:
    if not isinstance(result, dict):
        return False
    fields = cast(dict[str, Any], result)
    return fields.get("response_type") == REFLECT_AND_RETRY_RESPONSE_TYPE


def _advice(tool: str, args: dict[str, Any], error: Any, count: int, most: int) -> str:
    shown = json.dumps(args, ensure_ascii=False, default=str)
    if len(shown) > _LONGEST_ARGUMENTS:
        shown = f"{shown[:_LONGEST_ARGUMENTS]}..."
    return (
        f"The tool `{tool}` failed (attempt {count}, {most} retries allowed).\n"
        f"Error: {_error_text(error)}\n"
        f"Arguments: {shown}\n"
        "Find out why before you continue: a wrong value or format of an argument, a step that has "
        "to come first, a state that has changed, or a tool that does not do what you need. Then "
        "correct the arguments, take another tool, or another way. Never repeat the same call "
        "with the same arguments."
    )


def _stop(tool: str, error: Any) -> str:
    return (
        f"The tool `{tool}` failed again and its retries are used up.\n"
        f"Error: {_error_text(error)}\n"
        f"Do not call `{tool}` again for this task. Continue without it, or tell the user what "
        "could not be done, and why."
    )


def _error_text(error: Any) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, Exception) else str(error)

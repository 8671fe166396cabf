"""request_input: asks the user a question; the answer comes in a later message."""

from __future__ import annotations

from typing import Any

from .long_running_tool import LongRunningFunctionTool

NAME = "adk_request_input"


def ask_user(message: str, response_schema: dict[str, Any] | None = None) -> None:
    """Ask the user for something that you cannot know or decide, and wait for the answer.

    Use it for a missing detail, a decision or a clarification; not to report progress, and not
    where another tool can tell you.

    Args:
      message: the question, as the user is to read it.
      response_schema: JSON schema of the answer, where it has to have a form.
    """


def _make() -> LongRunningFunctionTool:
    tool = LongRunningFunctionTool(ask_user)
    tool.name = NAME
    return tool


request_input = _make()

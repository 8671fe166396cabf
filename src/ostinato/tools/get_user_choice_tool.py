"""get_user_choice: lets the user choose among options; the choice comes in a later message."""

from __future__ import annotations

from ..context.context import Context as ToolContext
from .long_running_tool import LongRunningFunctionTool


def get_user_choice(options: list[str], tool_context: ToolContext) -> str | None:
    """Let the user choose one of the options, and wait for the choice."""
    tool_context.actions.skip_summarization = True
    return None


get_user_choice_tool = LongRunningFunctionTool(func=get_user_choice)

"""exit_loop: lets an agent inside a LoopAgent end the loop."""

from __future__ import annotations

from ..context.context import Context as ToolContext


def exit_loop(tool_context: ToolContext) -> None:
    """End the loop.

    Call this only when your instructions say that the loop is to end.
    """
    tool_context.actions.escalate = True
    tool_context.actions.skip_summarization = True

"""Large tool results as artifacts: the log holds their beginning and where the rest is."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

from ...._log import get_logger
from ....context.context import Context
from ....context.context_policy import ContextPolicy
from ....tools.base_tool import BaseTool
from ....tools.stored_result import (
    describe_result,
    find_artifact,
    make_artifact_name,
    make_preview,
    save_result,
)

logger = get_logger(__name__)


async def offload_result(
    policy: ContextPolicy, context: Context, tool: BaseTool, response: dict[str, Any]
) -> dict[str, Any]:
    """Return what the log holds of a result: all of it, or its beginning and its artifact.

    The whole stays where the runtime reads it from the log, where the result is the run's answer,
    and where it cannot be saved. Requests then show its beginning; see `ResultTrimmer`.

    Args:
      policy: the limits.
      context: the context of the call, whose actions record the artifact.
      tool: the tool that ran.
      response: its result as JSON.
    """
    call_id = context.function_call_id
    if tool.keeps_result is True or context.actions.skip_summarization or not call_id:
        return response
    if find_artifact(response) is not None:  # the tool has bounded it itself
        return response
    if len(to_json(response)) <= policy.result_chars:
        return response
    if tool.returns_media is True and tool.split_media(response)[1]:
        return response
    text, extension, kind = describe_result(response)
    name = make_artifact_name(tool.name, call_id, extension)
    try:
        artifact = await save_result(text, name, kind, context)
    except Exception:  # boundary: a result that cannot be moved is kept where it is
        logger.exception("The result of tool %r was not saved as an artifact.", tool.name)
        return response
    if artifact is None:
        return response
    return make_preview(text, artifact.pop("ref"), policy.preview_chars) | {"artifact": artifact}

"""MultimodalToolResultsPlugin: tools may return parts, such as images, for the model to see."""

from __future__ import annotations

import threading
from typing import Any, Literal, cast

from .. import types
from .._adk_mode import follows_adk
from ..context.context import Context as CallbackContext
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..errors import AgentConfigError
from ..events.event import Event
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..tools.base_tool import BaseTool
from .base_plugin import BasePlugin

PARTS_RETURNED_BY_TOOLS_ID = "temp:PARTS_RETURNED_BY_TOOLS_ID"
"""State key of parts that a tool or another plugin puts into the next request of the model."""

# Parts by the id of the call whose tool returned them.
_Parts = dict[str, list[types.Part]]


class MultimodalToolResultsPlugin(BasePlugin):
    """Shows the model the parts that a tool returned, beside its response (FEATURES row 158).

    A tool returns a `Part` or a list of them. The response keeps their texts, and of media the type
    only: the bytes go to the model once, as media. Parts that a tool or another plugin lists under
    the state key `PARTS_RETURNED_BY_TOOLS_ID` are shown in the next request, too.

    Args:
      name: unique among an app's plugins.
      retention: "next_model_call" shows the parts in the next request only, and does not store
        them; "session" stores them with the tool's response, so that every later request has them.

    Raises:
      AgentConfigError: `retention` is neither.
    """

    def __init__(
        self,
        name: str = "multimodal_tool_results_plugin",
        *,
        retention: Literal["next_model_call", "session"] = "next_model_call",
    ) -> None:
        super().__init__(name)
        if retention not in ("next_model_call", "session"):
            raise AgentConfigError(
                f"MultimodalToolResultsPlugin: retention is {retention!r}, but must be "
                "'next_model_call' or 'session'."
            )
        self._is_stored = retention == "session"
        self._lock = threading.Lock()
        self._returned: dict[str, _Parts] = {}
        self._due: dict[tuple[str, str | None], list[types.Part]] = {}

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> dict[str, Any] | None:
        """Keep the parts that a tool returned; answer with what its response is to hold."""
        parts = _parts_of(result)
        if not parts or not tool_context.function_call_id:
            # google-adk answers with the result, so that no later hook is asked.
            return cast(Any, result) if follows_adk() and isinstance(result, dict) else None
        with self._lock:
            returned = self._returned.setdefault(tool_context.invocation_id, {})
            returned[tool_context.function_call_id] = parts
        records = [_without_bytes(part) for part in parts]
        return {"result": records if isinstance(result, list) else records[0]}

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Put the parts behind the responses, or keep them for the next request."""
        with self._lock:
            returned = self._returned.get(invocation_context.invocation_id)
            if not returned:
                return
            ids = [answer.id for answer in event.get_function_responses() if answer.id in returned]
            parts = [part for call_id in ids if call_id for part in returned.pop(call_id)]
            if parts and not self._is_stored:
                key = (event.invocation_id, event.branch)
                self._due.setdefault(key, []).extend(parts)
        if parts and self._is_stored and event.content is not None:
            event.content.parts = [*(event.content.parts or []), *parts]

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put the parts of the last tool calls into a request, behind their responses."""
        ctx = callback_context.get_invocation_context()
        with self._lock:
            parts = self._due.pop((ctx.invocation_id, ctx.branch), [])
        listed: list[types.Part] = callback_context.state.get(PARTS_RETURNED_BY_TOOLS_ID) or []
        if listed:
            parts = [*parts, *listed]
            callback_context.state[PARTS_RETURNED_BY_TOOLS_ID] = []
        if not parts:
            return
        last = llm_request.contents[-1] if llm_request.contents else None
        if last is not None and last.role == "user":
            last.parts = [*(last.parts or []), *parts]
        else:
            llm_request.contents.append(types.Content(role="user", parts=parts))

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self._forget(invocation_context.invocation_id)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        self._forget(invocation_context.invocation_id)

    def _forget(self, invocation_id: str) -> None:
        with self._lock:
            self._returned.pop(invocation_id, None)
            for key in [key for key in self._due if key[0] == invocation_id]:
                del self._due[key]


def _parts_of(result: Any) -> list[types.Part]:
    """Return the parts that a result consists of, or an empty list if it holds anything else."""
    items: list[Any] = cast(list[Any], result) if isinstance(result, list) else [result]
    parts = [_as_part(item) for item in items]
    return [part for part in parts if part is not None] if all(parts) else []


def _as_part(item: Any) -> types.Part | None:
    """Return a Part, also for the like-named record of google-genai; None for anything else."""
    if isinstance(item, types.Part):
        return item
    if type(item).__name__ == "Part" and hasattr(item, "inline_data"):
        return types.Part.model_validate(item)
    return None


def _without_bytes(part: types.Part) -> dict[str, Any]:
    record = part.to_json_dict()
    blob = record.get("inline_data")
    if blob is not None:
        blob.pop("data", None)
    return record

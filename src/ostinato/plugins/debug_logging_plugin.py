"""DebugLoggingPlugin: writes everything a run did into a file, one document per run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from .. import _clock, types
from .._log import get_logger
from ..context.context import Context as CallbackContext
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..tools.base_tool import BaseTool
from ._content_summary import content_record
from ._redaction import redact_value, redacted_text
from .base_plugin import BasePlugin

if TYPE_CHECKING:
    from ..context._ports import AgentLike

logger = get_logger(__name__)
_WRITING = Lock()
# What JSON may hold and YAML may not: control characters, byte order marks, lone surrogates.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


class DebugLoggingPlugin(BasePlugin):
    """Writes messages, requests, responses, tool calls, events and state of each run to a file
    (FEATURES row 158).

    A document is added when its run ends or fails. It is YAML, and what follows each `---` is JSON
    too. Secrets are left out by the names of fields and by their look, media are named only; texts
    of users stay, so keep the file as you keep the conversations. Only its owner may read it.

    Args:
      name: unique among an app's plugins.
      output_path: the file; it is added to.
      include_session_state: whether to write the state at the end of each run.
      include_system_instruction: whether to write the system instruction of each request.
    """

    def __init__(
        self,
        *,
        name: str = "debug_logging_plugin",
        output_path: str = "adk_debug.yaml",
        include_session_state: bool = True,
        include_system_instruction: bool = True,
    ) -> None:
        super().__init__(name)
        self._path = Path(output_path)
        self._include_state = include_session_state
        self._include_system = include_system_instruction
        self._lock = threading.Lock()
        self._documents: dict[str, dict[str, Any]] = {}

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        self._open(invocation_context)
        self._add(invocation_context, "user_message", content=content_record(user_message))

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        self._open(invocation_context)
        self._add(invocation_context, "invocation_start", branch=invocation_context.branch)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        actions = event.actions.model_dump(mode="json", exclude_defaults=True)
        self._add(
            invocation_context,
            "event",
            event_id=event.id,
            author=event.author,
            content=content_record(event.content),
            is_final_response=event.is_final_response(),
            partial=event.partial,
            branch=event.branch,
            actions=actions or None,
            error_code=event.error_code,
            error_message=event.error_message,
            long_running_tool_ids=sorted(event.long_running_tool_ids or ()) or None,
        )

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        await self._write(invocation_context, "invocation_end")

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        await self._write(invocation_context, "invocation_error", **_error(error))

    async def before_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        ctx = callback_context.get_invocation_context()
        self._add(ctx, "agent_start", branch=ctx.branch)

    async def after_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        self._add(callback_context.get_invocation_context(), "agent_end")

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        config = llm_request.config.model_dump(
            mode="json", exclude_none=True, exclude={"tools", "system_instruction"}
        )
        if self._include_system and llm_request.config.system_instruction:
            config["system_instruction"] = llm_request.config.system_instruction
        self._add(
            callback_context.get_invocation_context(),
            "llm_request",
            model=llm_request.model,
            content_count=len(llm_request.contents),
            contents=[content_record(content) for content in llm_request.contents],
            tools=list(llm_request.tools_dict),
            config=config,
        )

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        self._add(
            callback_context.get_invocation_context(),
            "llm_response",
            content=content_record(llm_response.content),
            partial=llm_response.partial,
            turn_complete=llm_response.turn_complete,
            finish_reason=llm_response.finish_reason,
            error_code=llm_response.error_code,
            error_message=llm_response.error_message,
            usage_metadata=llm_response.usage_metadata,
        )

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        ctx = callback_context.get_invocation_context()
        self._add(ctx, "llm_error", model=llm_request.model, **_error(error))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        self._add_tool("tool_call", tool, tool_context, args=tool_args)

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        self._add_tool("tool_response", tool, tool_context, result=result)

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        self._add_tool("tool_error", tool, tool_context, args=tool_args, **_error(error))

    def _open(self, ctx: InvocationContext) -> None:
        with self._lock:
            self._documents.setdefault(
                ctx.invocation_id,
                {
                    "invocation_id": ctx.invocation_id,
                    "session_id": ctx.session.id,
                    "app_name": ctx.app_name,
                    "user_id": ctx.user_id,
                    "start_time": _time(),
                    "entries": [],
                },
            )

    def _add(self, ctx: InvocationContext, entry_type: str, **data: Any) -> None:
        """Add an entry at once as JSON, so that later edits do not show in it."""
        entry = {
            "timestamp": _time(),
            "entry_type": entry_type,
            "agent_name": ctx.agent.name,
            "data": redact_value({key: value for key, value in data.items() if value is not None}),
        }
        with self._lock:
            document = self._documents.get(ctx.invocation_id)
            if document is not None:
                document["entries"].append(entry)

    def _add_tool(self, entry_type: str, tool: BaseTool, context: ToolContext, **data: Any) -> None:
        self._add(
            context.get_invocation_context(),
            entry_type,
            tool_name=tool.name,
            function_call_id=context.function_call_id,
            **data,
        )

    async def _write(self, ctx: InvocationContext, entry_type: str, **data: Any) -> None:
        if self._include_state:
            self._add(ctx, "session_state_snapshot", state=dict(ctx.session.state))
        self._add(ctx, entry_type, **data)
        with self._lock:
            document = self._documents.pop(ctx.invocation_id, None)
        if document is None:
            return
        try:
            await asyncio.to_thread(append_document, self._path, document)
        except OSError as error:
            logger.warning("The debug file could not be written: %s", error.strerror)


def _time() -> str:
    return datetime.fromtimestamp(_clock.now()).isoformat()


def _error(error: Exception) -> dict[str, str]:
    return {"error_type": type(error).__name__, "error_message": redacted_text(str(error))}


def append_document(path: Path, document: dict[str, Any]) -> None:
    """Add a document to the file, which is made for its owner only.

    Args:
      path: the file; its folder has to exist.
      document: JSON values; others are written as text.

    Raises:
      OSError: the file cannot be written.
    """
    text = json.dumps(document, ensure_ascii=False, indent=2, default=str)
    text = _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    # One lock for all files: plugins of two apps may share one.
    with _WRITING:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"---\n{text}\n")

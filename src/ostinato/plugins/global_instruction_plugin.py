"""GlobalInstructionPlugin: one instruction in front of every agent's own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from ..context.context import Context as CallbackContext
from ..context.readonly import ReadonlyContext
from ..context.template import inject_session_state
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from .base_plugin import BasePlugin

InstructionProvider: TypeAlias = Callable[[ReadonlyContext], str | Awaitable[str]]


class GlobalInstructionPlugin(BasePlugin):
    """Puts an instruction before the system instruction of every request (FEATURES row 158).

    Args:
      global_instruction: a text, filled in with session state as an agent's is; or a function that
        takes the read-only context, whose text is not filled in.
      name: unique among an app's plugins.
    """

    def __init__(
        self,
        global_instruction: str | InstructionProvider = "",
        name: str = "global_instruction",
    ) -> None:
        super().__init__(name)
        self.global_instruction = global_instruction

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put the instruction first."""
        readonly = ReadonlyContext(callback_context.get_invocation_context())
        text = await self._resolve_global_instruction(readonly)
        if not text:
            return
        present: Any = llm_request.config.system_instruction
        if not present:
            llm_request.config.system_instruction = text
        elif isinstance(present, str):
            llm_request.config.system_instruction = f"{text}\n\n{present}"
        else:
            parts = cast(list[Any], present if isinstance(present, list) else [present])
            llm_request.config.system_instruction = [text, *parts]

    async def _resolve_global_instruction(self, readonly_context: ReadonlyContext) -> str:
        """Return the instruction for the run that `readonly_context` shows."""
        given = self.global_instruction
        if isinstance(given, str):
            return await inject_session_state(given, readonly_context) if given else ""
        text = given(readonly_context)
        return await text if inspect.isawaitable(text) else text

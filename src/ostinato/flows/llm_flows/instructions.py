"""The instructions processor: global, static and the agent's own instruction (Spec 2 §3.4)."""

from __future__ import annotations

from typing import Any, cast

from ... import types
from ...context.callbacks import check_answer
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...context.template import inject_session_state
from ...models.llm_request import LlmRequest
from ._base_llm_processor import RequestEdit


class _InstructionsLlmRequestProcessor(RequestEdit):
    """Appends the instructions in the specified order, with session state filled in."""

    async def edit(self, invocation_context: InvocationContext, llm_request: LlmRequest) -> None:
        """Append the instructions."""
        agent = invocation_context.agent
        readonly = ReadonlyContext(invocation_context)
        root = agent.root_agent
        if getattr(root, "global_instruction", ""):
            text = await _resolve_instruction(root.canonical_global_instruction(readonly), readonly)
            llm_request.append_instructions([text])
        if agent.static_instruction:
            llm_request.append_instructions(_to_content(agent.static_instruction))
        if agent.instruction:
            text = await _resolve_instruction(agent.canonical_instruction(readonly), readonly)
            if agent.static_instruction:
                # The system instruction stays the same from turn to turn, so that it can be cached.
                llm_request.contents.append(
                    types.Content(role="user", parts=[types.Part(text=text)])
                )
            else:
                llm_request.append_instructions([text])


request_processor = _InstructionsLlmRequestProcessor()


async def _resolve_instruction(pending: Any, readonly: ReadonlyContext) -> str:
    """Await an instruction; fill in state unless it came from a function."""
    text, is_final = await pending
    check_answer(text, str, "the instruction function", readonly.agent_name)
    return text if is_final else await inject_session_state(text, readonly)


def _to_content(instruction: Any) -> types.Content:
    """Return a static instruction, given in any of its forms, as one Content."""
    if isinstance(instruction, types.Content):
        return instruction
    items = cast(list[Any], instruction if isinstance(instruction, list) else [instruction])
    return types.Content(role="user", parts=[_to_part(item) for item in items])


def _to_part(item: Any) -> types.Part:
    if isinstance(item, types.Part):
        return item
    if isinstance(item, str):
        return types.Part(text=item)
    if isinstance(item, types.File):
        return types.Part(
            file_data=types.FileData(
                file_uri=item.uri, mime_type=item.mime_type, display_name=item.display_name
            )
        )
    return types.Part.model_validate(item)

"""load_memory: lets the model search what is remembered of the user."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ..context.context import Context as ToolContext
from ..memory.memory_entry import MemoryEntry
from ..models.llm_request import LlmRequest
from .function_tool import FunctionTool

_HINT = (
    "You have a memory of earlier conversations with this user. When a question may rest on one of "
    "them, call load_memory with a query and look before you answer."
)


class LoadMemoryResponse(BaseModel):
    """What a search of the memory found."""

    memories: list[MemoryEntry] = Field(default_factory=list[MemoryEntry])


async def load_memory(query: str, tool_context: ToolContext) -> LoadMemoryResponse:
    """Search what is remembered of this user.

    Args:
      query: words to look for.
    """
    found = await tool_context.search_memory(query)
    return LoadMemoryResponse(memories=found.memories)


class LoadMemoryTool(FunctionTool):
    """Searches the memory when the model asks it to (Spec 3, "Services").

    It tells the model so in the system instruction. The Runner needs a memory service.
    """

    repeatable = True

    def __init__(self) -> None:
        super().__init__(load_memory)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Search, and return what was found without its empty fields."""
        found = await super().run_async(args=args, tool_context=tool_context)
        if isinstance(found, LoadMemoryResponse):
            return {"result": found.model_dump(mode="json", by_alias=False, exclude_none=True)}
        return found

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool, and say in the system instruction that there is a memory."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.append_instructions([_HINT])


load_memory_tool = LoadMemoryTool()

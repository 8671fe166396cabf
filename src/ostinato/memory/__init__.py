"""Memories across a user's sessions: the port, its records and its services."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.memory.base_memory_service import BaseMemoryService as BaseMemoryService
    from ostinato.memory.in_memory_memory_service import (
        InMemoryMemoryService as InMemoryMemoryService,
    )
    from ostinato.memory.sqlite_memory_service import SqliteMemoryService as SqliteMemoryService
    from ostinato.memory.vertex_ai_memory_bank_service import (
        VertexAiMemoryBankService as VertexAiMemoryBankService,
    )
    from ostinato.memory.vertex_ai_rag_memory_service import (
        VertexAiRagMemoryService as VertexAiRagMemoryService,
    )

__getattr__, __dir__, __all__ = attach(__name__)

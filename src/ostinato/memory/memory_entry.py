"""One memory, as a search returns it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ostinato.types import Content


class MemoryEntry(BaseModel):
    """A remembered content, who said it (`author`) and when (`timestamp`, ISO 8601)."""

    model_config = ConfigDict(defer_build=True)

    content: Content
    custom_metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    id: str | None = None
    author: str | None = None
    timestamp: str | None = None

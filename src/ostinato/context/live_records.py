"""Records of live runs: streaming tools and transcriptions, public in `ostinato.agents`."""

import asyncio
from typing import Any

from pydantic import BaseModel, ConfigDict

from .. import types
from .live_request_queue import LiveRequestQueue


class ActiveStreamingTool(BaseModel):
    """A streaming tool and its input (Spec 1 §17).

    Attributes:
      task: the task that runs the tool.
      stream: the queue that the tool reads, if any.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    task: asyncio.Task[Any] | None = None
    stream: LiveRequestQueue | None = None


class TranscriptionEntry(BaseModel):
    """A piece of a live conversation (Spec 1 §17).

    Attributes:
      role: who spoke, or None if unknown.
      data: the sound, or the content.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    role: str | None = None
    data: types.Blob | types.Content

"""ActiveStreamingTool: a tool that keeps streaming during a live run. An invocation lists them;
`ostinato.agents.active_streaming_tool` faces it.
"""

import asyncio
from typing import Any

from pydantic import BaseModel, ConfigDict

from .live_request_queue import LiveRequestQueue


class ActiveStreamingTool(BaseModel):
    """A streaming tool and what feeds it (Spec 1 §17).

    Attributes:
      task: the task that runs the tool.
      stream: the queue that the tool reads, where it wants one.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    task: asyncio.Task[Any] | None = None
    stream: LiveRequestQueue | None = None

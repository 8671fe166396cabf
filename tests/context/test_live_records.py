"""The records that an invocation keeps for live runs, at the paths programs import them from."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import ValidationError

from ostinato.agents.active_streaming_tool import ActiveStreamingTool
from ostinato.agents.live_request_queue import LiveRequestQueue
from ostinato.agents.transcription_entry import TranscriptionEntry
from ostinato.types import Blob, Content, Part


async def test_a_streaming_tool_has_its_task_and_queue() -> None:
    assert ActiveStreamingTool().task is None and ActiveStreamingTool().stream is None
    task, queue = asyncio.ensure_future(asyncio.sleep(0)), LiveRequestQueue()
    tool = ActiveStreamingTool(task=task, stream=queue)
    assert tool.task is task and tool.stream is queue
    await task
    with pytest.raises(ValidationError):
        ActiveStreamingTool(queue=queue)  # type: ignore[call-arg]


def test_an_entry_holds_sound_or_content() -> None:
    sound = TranscriptionEntry(data=Blob(data=b"x", mime_type="audio/wav"))
    assert sound.role is None and isinstance(sound.data, Blob)
    said = TranscriptionEntry(role="user", data=Content(parts=[Part(text="hi")]))
    assert isinstance(said.data, Content) and said.role == "user"
    with pytest.raises(ValidationError):
        TranscriptionEntry()  # type: ignore[call-arg]

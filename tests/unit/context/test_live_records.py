"""The records that an invocation keeps for live runs, at the paths programs import them from."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import ValidationError

from ostinato.agents.active_streaming_tool import ActiveStreamingTool
from ostinato.agents.live_request_queue import LiveRequest, LiveRequestQueue
from ostinato.agents.transcription_entry import TranscriptionEntry
from ostinato.errors import InputValidationError, SessionBusyError
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


def words(text: str) -> LiveRequest:
    return LiveRequest(content=Content(parts=[Part(text=text)]))


async def test_a_bounded_queue_holds_its_caller_up() -> None:
    queue = LiveRequestQueue(max_size=2)
    sent = [words(str(number)) for number in range(5)]
    putting = asyncio.gather(*(queue.put(one) for one in sent))
    assert [await queue.get() for _ in sent] == sent
    await putting


async def test_a_full_queue_refuses_all_but_its_end() -> None:
    queue = LiveRequestQueue(max_size=2)
    queue.send(words("a"))
    queue.send_realtime(Blob(data=b"x", mime_type="audio/pcm"))
    for send in (queue.send_activity_start, queue.send_activity_end):
        with pytest.raises(SessionBusyError, match="has not taken the last 2 messages"):
            send()
    queue.close()
    await queue.put(LiveRequest(close=True))
    assert [(await queue.get()).close for _ in range(4)] == [False, False, True, True]


def test_a_bound_has_room_for_one_at_least() -> None:
    with pytest.raises(InputValidationError, match="max_size 0"):
        LiveRequestQueue(max_size=0)

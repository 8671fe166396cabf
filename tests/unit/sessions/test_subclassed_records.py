"""Events that hold objects of a program's own subclasses of records can be read again."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.errors import InputValidationError, StoreError
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions, EventCompaction
from ostinato.flows.llm_flows.history.visibility import StoredContent
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.base_session_service import BaseSessionService
from ostinato.sessions.log.event_log import EventRecord
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.tools.tool_confirmation import ToolConfirmation


class NotedContent(types.Content):
    note: str = "n"


class NotedPart(types.Part):
    note: str = "n"


class NotedVideo(types.VideoMetadata):
    note: str = "n"


class NotedCall(types.FunctionCall):
    note: str = "n"


class NotedUsage(types.GenerateContentResponseUsageMetadata):
    note: str = "n"


class NotedGrounding(types.GroundingMetadata):
    note: str = "n"


class NotedTranscription(types.Transcription):
    note: str = "n"


class NotedCitations(types.CitationMetadata):
    note: str = "n"


class NotedLogprobs(types.LogprobsResult):
    note: str = "n"


class NotedUpdate(types.LiveServerSessionResumptionUpdate):
    note: str = "n"


class NotedGoAway(types.LiveServerGoAway):
    note: str = "n"


class NotedActions(EventActions):
    note: str = "n"


class NotedConfirmation(ToolConfirmation):
    note: str = "n"


class NotedCompaction(EventCompaction):
    note: str = "n"


class NotedEvent(Event):
    content: NotedContent | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    tag: str = ""


class NumberedContent(types.Content):
    role: int = 0  # type: ignore[assignment]  # pyright: ignore


TEXT = types.Content(role="model", parts=[types.Part(text="hi")])
COMPACTION = NotedCompaction(start_timestamp=0, end_timestamp=1, compacted_content=TEXT)
FIELDS: dict[str, dict[str, Any]] = {
    "content": {"content": NotedContent(role="model", parts=TEXT.parts)},
    "part": {"content": types.Content(role="model", parts=[NotedPart(text="hi")])},
    "part's field": {
        "content": types.Content(
            role="model",
            parts=[types.Part(text="hi", video_metadata=NotedVideo(fps=1.0))],
        )
    },
    "both": {"content": NotedContent(role="model", parts=[NotedPart(text="hi")])},
    "call": {
        "content": types.Content(
            role="model",
            parts=[types.Part(function_call=NotedCall(name="f", args={"note": "kept"}))],
        )
    },
    "usage": {"content": TEXT, "usage_metadata": NotedUsage(total_token_count=1)},
    "grounding": {"grounding_metadata": NotedGrounding(web_search_queries=["q"])},
    "transcription": {"input_transcription": NotedTranscription(text="hi")},
    "citations": {"citation_metadata": NotedCitations()},
    "logprobs": {"logprobs_result": NotedLogprobs()},
    "update": {"live_session_resumption_update": NotedUpdate(new_handle="h")},
    "go away": {"go_away": NotedGoAway(time_left="1s")},
    "actions": {"actions": NotedActions(state_delta={"note": "kept"})},
    "confirmation": {
        "actions": EventActions(requested_tool_confirmations={"c": NotedConfirmation(hint="h")})
    },
    "compaction": {"actions": EventActions(compaction=COMPACTION)},
}
SERVICES = ("memory", "sqlite")


def make_service(kind: str, folder: Path) -> BaseSessionService:
    return (
        SqliteSessionService(str(folder / "s.db")) if kind == "sqlite" else InMemorySessionService()
    )


@pytest.mark.parametrize("kind", SERVICES)
@pytest.mark.parametrize("name", FIELDS)
async def test_a_store_keeps_the_own_fields_of_the_record(
    name: str, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = make_service(kind, tmp_path)
    session = await service.create_session(app_name="a", user_id="u")
    await service.append_event(session, Event(author="bot", **FIELDS[name]))
    found = await service.get_session(app_name="a", user_id="u", session_id=session.id)
    assert found is not None
    dumped = found.events[0].model_dump_json()
    assert '"note":"n"' not in dumped
    assert dumped.count('"note":"kept"') == ("kept" in str(FIELDS[name]))
    assert "kept" in dumped or "kept" not in str(FIELDS[name])
    assert not caplog.records


@pytest.mark.parametrize("name", FIELDS)
def test_no_reader_of_a_record_meets_an_unknown_field(name: str) -> None:
    record = EventRecord.of(Event(author="bot", **FIELDS[name]))
    assert '"note":"n"' not in record.data
    StoredContent.model_validate_json(record.data)


def test_an_event_of_a_subclass_with_a_subclassed_record_is_read() -> None:
    event = NotedEvent(author="bot", tag="t", content=NotedContent(role="model", parts=TEXT.parts))
    record = EventRecord.of(event)
    assert json.loads(record.data)["tag"] == "t"
    live = record.event()
    assert isinstance(live, NotedEvent)
    assert live.tag == "t"
    plain = EventRecord.from_columns(
        id="e", invocation_id="i", author="bot", branch=None, timestamp=1.0, data=record.data
    ).event()
    assert plain.content == TEXT


def test_what_could_not_be_read_again_is_refused() -> None:
    event = Event(author="bot", content=NumberedContent(role=3, parts=TEXT.parts))  # pyright: ignore
    with pytest.raises(InputValidationError):
        EventRecord.of(event)


def test_an_output_of_any_class_keeps_all_its_fields() -> None:
    record = EventRecord.of(Event(author="bot", output=NotedContent(role="model")))
    assert record.event().output == {"note": "n", "role": "model"}


STORED = {
    "content": '{"content":{"parts":[{"text":"hi","note":"n"}],"role":"model","note":"n"}}',
    "actions": '{"actions":{"note":"n","stateDelta":{"note":"kept"}}}',
    "usage": '{"usageMetadata":{"note":"n","totalTokenCount":1}}',
    "place": '{"@":"a@1","content":{"role":"model","note":"n"}}',
}


@pytest.mark.parametrize("name", STORED)
def test_an_event_that_was_stored_with_unknown_fields_is_read(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    record = EventRecord.from_columns(
        id="e", invocation_id="i", author="bot", branch=None, timestamp=1.0, data=STORED[name]
    )
    with caplog.at_level(logging.WARNING):
        record.read_as(StoredContent)
        event = record.event()
        record.event()
    assert '"n"' not in event.model_dump_json()
    assert event.node_info.path == ("a@1" if name == "place" else "")
    assert len(caplog.records) == 1
    assert "note" in caplog.text


@pytest.mark.parametrize("text", ['{"content":{"role":3,"note":"n"}}', '{"content":', "[]"])
def test_a_damaged_event_is_told(text: str) -> None:
    record = EventRecord.from_columns(
        id="e", invocation_id="i", author="bot", branch=None, timestamp=1.0, data=text
    )
    with pytest.raises(StoreError, match="damaged"):
        record.event()

"""The Memory Bank: which keys choose which request, and what each sends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import InputValidationError, StoreError
from ostinato.events.event import Event
from ostinato.memory import VertexAiMemoryBankService
from ostinato.memory.memory_entry import MemoryEntry
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.testing import ScriptedModel, call
from ostinato.tools import load_memory
from ostinato.types import Blob, Content, Part
from tests.wire.agent_engine.engine import AgentEngine
from tests.wire.fake_server import Answer

OWNER: dict[str, Any] = {"app_name": "app", "user_id": "ann"}
SCOPE = {"app_name": "app", "user_id": "ann"}


@pytest.fixture
async def bank(engine: AgentEngine) -> AsyncIterator[VertexAiMemoryBankService]:
    service = VertexAiMemoryBankService("proj", "us-central1", "456")
    yield service
    await service.close()


def said(words: str, **fields: Any) -> Event:
    content = Content(role="user", parts=[Part(text=words)])
    return Event(**{"author": "user", "id": words, "timestamp": 1.5, "content": content, **fields})


@pytest.mark.spec(200)
async def test_an_engine_is_needed(engine: AgentEngine) -> None:
    for nothing in ({}, {"agent_engine_id": ""}):
        with pytest.raises(InputValidationError, match="agent_engine_id is required"):
            VertexAiMemoryBankService("proj", "us-central1", **nothing)
    with pytest.raises(InputValidationError, match="Pass only '456'"):
        VertexAiMemoryBankService(agent_engine_id="projects/1/locations/x/reasoningEngines/456")


STREAM = {
    "stream_id": "st",
    "force_flush": True,
    "generation_trigger_config": {"generation_rule": {"idle_duration": "60s"}},
}


@pytest.mark.spec(200)
@pytest.mark.parametrize("keys", [(), *((key,) for key in STREAM), tuple(STREAM), ("colour",)])
async def test_events_are_ingested(
    engine: AgentEngine, bank: VertexAiMemoryBankService, keys: tuple[str, ...]
) -> None:
    metadata = {key: STREAM.get(key, "red") for key in keys}
    await bank.add_events_to_memory(**OWNER, events=[said("tea")], custom_metadata=metadata)
    sent = engine.ingested[0]
    assert sent.pop("by") == "ingest" and sent.pop("scope") == SCOPE
    assert sent.pop("directContentsSource") == {
        "events": [
            {
                "content": {"role": "user", "parts": [{"text": "tea"}]},
                "eventId": "tea",
                "eventTime": "1970-01-01T00:00:01.500000000Z",
            }
        ]
    }
    told = {"stream_id": "streamId", "force_flush": "forceFlush"}
    assert sent.keys() == {
        told.get(key, "generationTriggerConfig") for key in keys if key in STREAM
    }


ONLY_GENERATE: dict[str, tuple[Any, dict[str, Any]]] = {
    "disable_consolidation": (True, {"disableConsolidation": True}),
    "ttl": ("60s", {"revisionTtl": "60s"}),
    "revision_ttl": ("60s", {"revisionTtl": "60s"}),
    "revision_labels": ({"k": "v"}, {"revisionLabels": {"k": "v"}}),
    "revision_expire_time": (
        datetime(2030, 1, 1, tzinfo=UTC),
        {"revisionExpireTime": "2030-01-01T00:00:00+00:00"},
    ),
    "disable_memory_revisions": (True, {"disableMemoryRevisions": True}),
    "metadata": ({"a": "b"}, {"metadata": {"a": {"stringValue": "b"}}}),
    "metadata_merge_strategy": ("MERGE", {"metadataMergeStrategy": "MERGE"}),
    "wait_for_completion": (False, {}),
    "http_options": ({"timeout": 1}, {}),
}


@pytest.mark.spec(200)
@pytest.mark.parametrize("key", ONLY_GENERATE)
async def test_keys_that_only_generating_knows(
    engine: AgentEngine, bank: VertexAiMemoryBankService, key: str
) -> None:
    value, fields = ONLY_GENERATE[key]
    await bank.add_events_to_memory(**OWNER, events=[said("tea")], custom_metadata={key: value})
    content = {"content": {"role": "user", "parts": [{"text": "tea"}]}}
    assert engine.ingested == [
        {
            "by": "generate",
            "directContentsSource": {"events": [content]},
            "scope": SCOPE,
            **fields,
        }
    ]


async def test_other_keys_are_kept_as_metadata_where_memories_are_made(
    engine: AgentEngine, bank: VertexAiMemoryBankService
) -> None:
    metadata = {
        "ttl": None,
        "stream_id": "st",
        "yes": True,
        "number": 2,
        "at": datetime(2030, 1, 1, tzinfo=UTC),
        "list": ["a"],
        "no": None,
    }
    await bank.add_events_to_memory(**OWNER, events=[said("tea")], custom_metadata=metadata)
    assert engine.ingested[0]["metadata"] == {
        "stream_id": {"stringValue": "st"},
        "yes": {"boolValue": True},
        "number": {"doubleValue": 2.0},
        "at": {"timestampValue": "2030-01-01T00:00:00+00:00"},
        "list": {"stringValue": "['a']"},
    }
    assert "revisionTtl" not in engine.ingested[0]


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({"ttl": 60}, r"'ttl'\] must be a str, not int\. Durations are written as '3600s'"),
        ({"force_flush": "x"}, r"'force_flush'\] must be a bool, not str"),
        ({"metadata": ["a"]}, r"'metadata'\] must be a dict, not list"),
        ({"revision_expire_time": 5}, r"must be a str or datetime, not int"),
    ],
)
async def test_values_of_the_wrong_type(
    engine: AgentEngine, bank: VertexAiMemoryBankService, metadata: Any, says: str
) -> None:
    with pytest.raises(InputValidationError, match=says):
        await bank.add_events_to_memory(**OWNER, events=[said("x")], custom_metadata=metadata)
    assert engine.asked == []


async def test_what_says_nothing_is_not_sent(
    engine: AgentEngine, bank: VertexAiMemoryBankService
) -> None:
    silent = [Event(author="a"), said(""), Event(author="a", content=Content(parts=[]))]
    await bank.add_events_to_memory(**OWNER, events=silent)
    await bank.add_events_to_memory(**OWNER, events=silent, custom_metadata={"ttl": "60s"})
    await bank.add_session_to_memory(Session(id="s1", **OWNER, events=silent))
    assert engine.asked == []
    await bank.add_events_to_memory(**OWNER, events=[], custom_metadata={"force_flush": True})
    assert engine.ingested == [{"by": "ingest", "scope": SCOPE, "forceFlush": True}]


async def test_a_session_is_ingested(engine: AgentEngine, bank: VertexAiMemoryBankService) -> None:
    await bank.add_session_to_memory(Session(id="s1", **OWNER, events=[said("a"), said("b")]))
    events = engine.ingested[0]["directContentsSource"]["events"]
    assert [one["eventId"] for one in events] == ["a", "b"]


async def test_memories_may_be_waited_for(
    engine: AgentEngine, bank: VertexAiMemoryBankService, waits: list[float]
) -> None:
    engine.polls = 2
    await bank.add_events_to_memory(**OWNER, events=[said("x")], custom_metadata={"ttl": "60s"})
    assert waits == []
    wait = {"wait_for_completion": True}
    await bank.add_events_to_memory(**OWNER, events=[said("x")], custom_metadata=wait)
    assert len(waits) == 2
    engine.failing = {"code": 13, "message": "the model failed"}
    with pytest.raises(StoreError, match="the model failed"):
        await bank.add_events_to_memory(**OWNER, events=[said("x")], custom_metadata=wait)


async def test_generating_is_not_done_twice(
    engine: AgentEngine, bank: VertexAiMemoryBankService
) -> None:
    engine.faults = [("generate", Answer({}, status=500)), ("ingest", Answer({}, status=500))]
    with pytest.raises(StoreError, match="500"):
        await bank.add_events_to_memory(**OWNER, events=[said("x")], custom_metadata={"ttl": "6s"})
    await bank.add_events_to_memory(**OWNER, events=[said("x")])
    assert [one["by"] for one in engine.ingested] == ["ingest"]


def entry(*words: str, **fields: Any) -> MemoryEntry:
    return MemoryEntry(content=Content(parts=[Part(text=one) for one in words]), **fields)


async def test_ready_made_facts(engine: AgentEngine, bank: VertexAiMemoryBankService) -> None:
    tea = entry(
        "likes tea",
        "and rain",
        author="ann",
        timestamp="2025-01-01T00:00:00Z",
        custom_metadata={"ttl": "90s", "colour": "red", "memory_id": "m-1"},
    )
    await bank.add_memory(**OWNER, memories=[tea], custom_metadata={"ttl": "60s"})
    assert engine.requests()[0]["query"] == {"memoryId": "m-1"}
    assert engine.requests()[0]["json"] == {
        "fact": "likes tea\nand rain",
        "scope": SCOPE,
        "ttl": "90s",
        "metadata": {"colour": {"stringValue": "red"}},
        "revisionLabels": {"author": "ann", "timestamp": "2025-01-01T00:00:00Z"},
    }
    found = await bank.search_memory(**OWNER, query="drinks")
    assert [memory.model_dump(exclude_none=True) for memory in found.memories] == [
        {
            "author": "user",
            "content": {"role": "user", "parts": [{"text": "likes tea\nand rain"}]},
            "custom_metadata": {},
            "timestamp": "2023-11-14T22:13:21+00:00",
        }
    ]
    assert (await bank.search_memory(app_name="app", user_id="bob", query="x")).memories == []


async def test_facts_may_be_merged(engine: AgentEngine, bank: VertexAiMemoryBankService) -> None:
    facts = [entry(str(n)) for n in range(7)]
    merge = {"enable_consolidation": True, "revision_ttl": "60s"}
    await bank.add_memory(**OWNER, memories=facts, custom_metadata=merge)
    sent = [one["directMemoriesSource"]["directMemories"] for one in engine.ingested]
    assert sent == [[{"fact": str(n)} for n in range(5)], [{"fact": "5"}, {"fact": "6"}]]
    assert {one["revisionTtl"] for one in engine.ingested} == {"60s"}


async def test_facts_are_text(engine: AgentEngine, bank: VertexAiMemoryBankService) -> None:
    image = Part(inline_data=Blob(mime_type="image/png", data=b"x"))
    for memories, says in (
        ([], "at least one entry"),
        ([entry("a"), MemoryEntry(content=Content(parts=[image]))], r"memories\[1\] must .* only"),
        ([entry(" ")], r"memories\[0\] must include text"),
    ):
        with pytest.raises(InputValidationError, match=says):
            await bank.add_memory(**OWNER, memories=memories)
    assert engine.asked == []


async def test_a_tool_searches(engine: AgentEngine, bank: VertexAiMemoryBankService) -> None:
    await bank.add_memory(**OWNER, memories=[entry("likes tea")])
    model = ScriptedModel([call("load_memory", query="drinks"), "You like tea."])
    agent = LlmAgent(name="clerk", model=model, tools=[load_memory])
    sessions = InMemorySessionService()
    runner = Runner(agent=agent, app_name="app", session_service=sessions, memory_service=bank)
    await sessions.create_session(**OWNER, session_id="s1")
    message = Content(role="user", parts=[Part(text="what do I like?")])
    async for _ in runner.run_async(user_id="ann", session_id="s1", new_message=message):
        pass
    assert "likes tea" in str(model.requests[-1].contents)

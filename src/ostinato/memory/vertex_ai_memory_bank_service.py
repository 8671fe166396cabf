"""VertexAiMemoryBankService: memories kept by the Memory Bank of Agent Engine of Vertex AI.

A model of the service makes facts of what is said, in its own time; what is handed in is found
only after that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.memory._memory_bank_fields import (
    CREATE,
    GENERATE,
    INGEST,
    content_of,
    fact_of,
    fields_of,
    is_for_generate,
)
from ostinato.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse, check_query
from ostinato.memory.memory_entry import MemoryEntry
from ostinato.sessions.agent_engine.agent_engine_client import (
    AgentEngineClient,
    check_engine,
    get_express_mode_api_key,
)
from ostinato.sessions.agent_engine.agent_engine_events import seconds_of, timestamp_text, utc_text
from ostinato.sessions.session import Session
from ostinato.types import Content, Part

_CONSOLIDATED_AT_ONCE = 5


class VertexAiMemoryBankService(BaseMemoryService):
    """Memories kept by the Memory Bank of Agent Engine (Spec 4 §6, FEATURES row 200).

    The keys of `custom_metadata` choose how events are handed in. Usually they are ingested: the
    service collects them in a stream, drops what it has seen, and makes memories as
    `generation_trigger_config` says; `stream_id` and `force_flush` belong to that, too. A key that
    only generating knows makes memories of these events at once: `disable_consolidation`, `ttl`,
    `revision_ttl`, `revision_expire_time`, `revision_labels`, `disable_memory_revisions`,
    `metadata`, `metadata_merge_strategy`, `wait_for_completion`, `http_options`.

    Args:
      project: the project; GOOGLE_CLOUD_PROJECT, or the login's own, where it is None.
      location: its region; GOOGLE_CLOUD_LOCATION where it is None.
      agent_engine_id: the engine's id, such as "456".
      express_mode_api_key: a key of express mode; see `VertexAiSessionService`.

    Raises:
      InputValidationError: the id is missing or malformed, or an API key was given together with
        project or location.
      MissingExtraError: the extra `vertex` is not installed.
    """

    def __init__(
        self,
        project: str | None = None,
        location: str | None = None,
        agent_engine_id: str | None = None,
        *,
        express_mode_api_key: str | None = None,
    ) -> None:
        if not agent_engine_id:
            raise InputValidationError(
                "agent_engine_id is required for VertexAiMemoryBankService: the id of the engine "
                'whose Memory Bank is meant, such as "456".'
            )
        self._engine = check_engine(agent_engine_id)
        key = get_express_mode_api_key(project, location, express_mode_api_key)
        self._client = AgentEngineClient(project, location, key)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def add_session_to_memory(self, session: Session) -> None:
        """Ingest a session's events; those that the service has seen do not count again."""
        await self._ingest_events(session.app_name, session.user_id, session.events, {})

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Ingest events, or make memories of them at once; the class says by which keys.

        Where memories are made at once, a key that nothing knows is kept with them as metadata.

        Raises:
          InputValidationError: a value of `custom_metadata` is of the wrong type.
        """
        metadata = custom_metadata or {}
        if not is_for_generate(metadata):
            await self._ingest_events(app_name, user_id, events, metadata)
            return
        contents = [{"content": content} for event in events if (content := content_of(event))]
        if contents:
            body = {"directContentsSource": {"events": contents}}
            await self._generate_memories(app_name, user_id, body, metadata)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store ready-made facts without changing them.

        With `custom_metadata={"enable_consolidation": True}` the service merges them with what it
        knows. An entry's own metadata goes before `custom_metadata`.

        Raises:
          InputValidationError: no entries, or one with something other than text.
        """
        if not memories:
            raise InputValidationError("memories must contain at least one entry.")
        facts = [fact_of(index, entry) for index, entry in enumerate(memories)]
        metadata = dict(custom_metadata or {})
        if metadata.pop("enable_consolidation", False):
            for start in range(0, len(facts), _CONSOLIDATED_AT_ONCE):
                batch = [{"fact": fact} for fact in facts[start : start + _CONSOLIDATED_AT_ONCE]]
                body = {"directMemoriesSource": {"directMemories": batch}}
                await self._generate_memories(app_name, user_id, body, metadata)
            return
        for fact, entry in zip(facts, memories, strict=True):
            await self._create_memory(app_name, user_id, fact, entry, metadata)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return the memories that are nearest in meaning to `query`."""
        check_query(query)
        body = {
            "scope": _owner_scope(app_name, user_id),
            "similaritySearchParams": {"searchQuery": query},
        }
        found = await self._client.ask("POST", self._engine, "memories:retrieve", body=body)
        memories = [one["memory"] for one in found.get("retrievedMemories") or ()]
        return SearchMemoryResponse(
            memories=[
                MemoryEntry(
                    author="user",
                    content=Content(role="user", parts=[Part(text=memory.get("fact"))]),
                    timestamp=utc_text(seconds_of(memory["updateTime"])),
                )
                for memory in memories
            ]
        )

    async def _ingest_events(
        self,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        metadata: Mapping[str, object],
    ) -> None:
        fields, _ = fields_of(metadata, INGEST)
        sent = [
            {"content": content, "eventId": event.id, "eventTime": timestamp_text(event.timestamp)}
            for event in events
            if (content := content_of(event))
        ]
        if not sent and not fields.get("forceFlush"):
            return
        body = {"scope": _owner_scope(app_name, user_id), **fields}
        if sent:
            body["directContentsSource"] = {"events": sent}
        await self._client.ask("POST", self._engine, "memories:ingestEvents", body=body)

    async def _generate_memories(
        self,
        app_name: str,
        user_id: str,
        source: dict[str, Any],
        metadata: Mapping[str, object],
    ) -> None:
        fields, waits = fields_of(metadata, GENERATE)
        body = {**source, "scope": _owner_scope(app_name, user_id), **fields}
        operation = await self._client.ask(
            "POST", self._engine, "memories:generate", body=body, repeatable=False
        )
        if waits:
            await self._client.wait_for_operation(self._engine, operation)

    async def _create_memory(
        self,
        app_name: str,
        user_id: str,
        fact: str,
        entry: MemoryEntry,
        metadata: Mapping[str, object],
    ) -> None:
        fields, waits = fields_of({**metadata, **entry.custom_metadata}, CREATE)
        name = fields.pop("memoryId", None)
        labels = {"author": entry.author, "timestamp": entry.timestamp}
        labels = {key: value for key, value in labels.items() if value}
        if labels:
            fields["revisionLabels"] = {**labels, **fields.get("revisionLabels", {})}
        operation = await self._client.ask(
            "POST",
            self._engine,
            "memories",
            query={"memoryId": name} if name else {},
            body={"fact": fact, "scope": _owner_scope(app_name, user_id), **fields},
            repeatable=False,
        )
        if waits:
            await self._client.wait_for_operation(self._engine, operation)


def _owner_scope(app_name: str, user_id: str) -> dict[str, str]:
    return {"app_name": app_name, "user_id": user_id}

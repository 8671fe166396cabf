"""Agents' checkpoints at the interruption of a run, read from its events or its journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..store.durable_store import JournalRow
from .event_log import AGENT_STATE, END_OF_AGENT, EventLog

CHECKPOINT_PREFIX = "agent:"
"""Call id of a journal row that holds the checkpoint of the agent whose name follows."""


class Checkpoint(NamedTuple):
    """What an agent had noted about itself when a run was interrupted.

    Attributes:
      agent: name of the agent.
      branch: the branch it ran on.
      at: index of the first record that came after it.
      state: the checkpoint, or None if the agent ended or started again.
      ended: whether the agent had ended.
    """

    agent: str
    branch: str | None
    at: int
    state: dict[str, Any] | None
    ended: bool


def recorded_checkpoints(log: EventLog, invocation_id: str) -> list[Checkpoint]:
    """Return the checkpoints that an invocation's events hold, oldest first."""
    found: list[Checkpoint] = []
    for index in reversed([*log.indexes_of(invocation_id)]):
        record = log.records[index]
        if record.kinds & END_OF_AGENT:
            found.append(Checkpoint(record.author, record.branch, index + 1, None, True))
        elif record.kinds & AGENT_STATE:
            state = record.event().actions.agent_state or {}
            found.append(Checkpoint(record.author, record.branch, index + 1, state, False))
    return found


def checkpoint_text(
    branch: str | None, after: str | None, state: dict[str, Any] | None, ended: bool, number: int
) -> str:
    """Return a checkpoint as the JSON of a journal row.

    Args:
      branch: the branch the agent runs on.
      after: id of the newest record then.
      state, ended: as in `Checkpoint`.
      number: place among the checkpoints of the invocation.
    """
    fields = {"branch": branch, "after": after, "state": state, "ended": ended, "number": number}
    return json.dumps(fields, separators=(",", ":"))


def journalled_checkpoints(log: EventLog, rows: Iterable[JournalRow]) -> list[Checkpoint]:
    """Return the checkpoints that rows of a journal hold, oldest first."""
    found = sorted(_checkpoint_rows(rows), key=lambda item: item[1]["number"])
    after = {record.id: index for index, record in enumerate(log.records, 1)} if found else {}
    return [
        Checkpoint(
            agent,
            fields["branch"],
            after.get(fields["after"], 0),
            fields["state"],
            fields["ended"],
        )
        for agent, fields in found
    ]


def newest_checkpoint(rows: Iterable[JournalRow]) -> int:
    """Return the number of the newest checkpoint in the rows of a journal, or 0."""
    return max((fields["number"] for _, fields in _checkpoint_rows(rows)), default=0)


def _checkpoint_rows(rows: Iterable[JournalRow]) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in rows:
        if row.status == "state" and row.result is not None:
            if row.call_id.startswith(CHECKPOINT_PREFIX):
                yield row.tool, json.loads(row.result)

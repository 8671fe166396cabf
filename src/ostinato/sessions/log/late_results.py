"""Late results: the user's results for calls of called agents that have ended.

An ended agent does not run again, so the agent around it reads them.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ... import types
from ...events.pending import CONFIRMATION, CREDENTIAL
from .event_log import EventLog, EventRecord

LATE = "ostinato:late"
"""Key in the custom metadata of a user's message: its late results, by the id of the call."""


class LateResult(NamedTuple):
    """Who made the answered call, and where the agent runs that reads the result.

    Attributes:
      agent: the agent that made the call and has ended.
      branch: branch of the reading agent.
      scope: its isolation scope.
      path: its path in a graph; empty outside of graphs.
    """

    agent: str
    branch: str | None
    scope: str | None
    path: str


def find_reader(log: EventLog, asked: EventRecord) -> EventRecord:
    """Return the call whose agent reads the answer to a call: that call, or the call of the
    outermost agent around it that has ended.

    Args:
      log: the session's records.
      asked: the record of the answered call.
    """
    reader: EventRecord = asked
    inner: EventRecord | None = asked
    while inner is not None and inner.scope is not None:
        scope = inner.scope
        inner = log.find_call(scope)
        if inner is not None and log.is_over(scope):
            reader = inner
    return reader


def find_late_results(log: EventLog, message: types.Content) -> dict[str, LateResult]:
    """Return the late results in a message, by the id of the call.

    Args:
      log: the session's records before the message.
      message: the user's message.
    """
    found: dict[str, LateResult] = {}
    for part in message.parts or ():
        given = part.function_response
        if given is None or given.id is None or given.name in (CONFIRMATION, CREDENTIAL):
            continue  # a decided call runs anyway, and the result is its agent's own
        call_id, asked = given.id, log.find_call(given.id)
        if asked is None:
            continue
        reader = find_reader(log, asked)
        if reader is not asked:
            found[call_id] = LateResult(asked.author, reader.branch, reader.scope, reader.path)
    return found


def read_late_results(record: EventRecord) -> dict[str | None, LateResult]:
    """Return the late results in a record, by the id of the call."""
    if record.author != "user" or not record.has_metadata(LATE):
        return {}
    fields: dict[str, Any] = json.loads(record.data)["customMetadata"]
    return {call_id: LateResult(*given) for call_id, given in fields[LATE].items()}

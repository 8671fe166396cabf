"""Readers of words: agents that read what a user's message holds beside its answers.

They are the agents whose requests it answers, and the task of a graph that waits for the user.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from .event_log import EventRecord

WORDS = "ostinato:words"
"""Key in the custom metadata of a user's message: the readers of its words."""


class WordReader(NamedTuple):
    """Where an agent runs that reads the words of a message.

    Attributes:
      branch: its branch.
      scope: its isolation scope.
      path: its path in a graph if it has no scope; else empty.
    """

    branch: str | None
    scope: str | None
    path: str

    @classmethod
    def of(cls, record: EventRecord, scope: str | None) -> WordReader:
        """Return the agent that a record is of.

        Args:
          record: the record.
          scope: the agent's isolation scope.
        """
        return cls(record.branch, scope, record.path if scope is None else "")


def read_word_readers(record: EventRecord) -> Sequence[WordReader]:
    """Return the readers that a user's message names."""
    if record.author != "user" or not record.responses or not record.has_metadata(WORDS):
        return ()
    fields: dict[str, Any] = json.loads(record.data)["customMetadata"]
    return [WordReader(*given) for given in fields[WORDS]]


def read_word_scopes(record: EventRecord) -> set[str | None]:
    """Return the isolation scopes that a user's message speaks to."""
    return {record.scope, *(one.scope for one in read_word_readers(record))}

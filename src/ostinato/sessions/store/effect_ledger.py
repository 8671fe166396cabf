"""The effects ledger: a row per tool call that ran, kept beyond its invocation.

A row holds digests, never arguments or results. It is written in the transaction that finishes the
call. With a hash chain, each row of a session also holds a hash over itself and the row before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ...errors import InputValidationError
from .durable_store import JournalRow, Place
from .effect_row import (
    DEFAULTS,
    Outcome,
    Resolution,
    is_readable,
    is_text,
    now_ms,
    split_row,
)

_TRIM_EVERY = 512  # rows written between two looks for old ones
_DAY_MS = 86_400_000
_LAST_MS = 253_402_214_400_000  # the last day that every calendar has


@dataclass(frozen=True, slots=True)
class EffectSettings:
    """How a store keeps its effects ledger.

    Args:
      keep_days: after how many days a row is deleted; None keeps it as long as its session.
      chained: whether each row gets a hash over itself and its predecessor (`verify_effects`).

    Raises:
      InputValidationError: `keep_days` is not positive.
    """

    keep_days: float | None = 90.0
    chained: bool = False

    def __post_init__(self) -> None:
        if self.keep_days is not None and not self.keep_days > 0:
            raise InputValidationError(f"keep_days must be more than 0, not {self.keep_days}.")


@dataclass(frozen=True, slots=True)
class Effect:
    """One tool call that ran, or was in doubt, in a session.

    Attributes:
      place: the session that the user knows.
      number: its number within the session's ledger, from 1.
      tool: name of the tool.
      source: the tool's class, such as `FunctionTool`, `McpTool` or `RestApiTool`.
      agent: the agent that called it, or the path of the workflow node. Of an agent that was called
        as a tool, its callers come first, as in `shop/payer`.
      invocation_id: the run.
      call_id: the function call.
      key: the idempotency key that the tool could pass on.
      asked_by: id of the session's user, whose message led to the call.
      approved_by: the user who approved the call; '' if it needed no approval.
      args_digest: digest of the arguments as the tool got them: 96 bits of SHA-256, hex.
      result_digest: digest of the response; equal responses have equal digests.
      begun: when the last attempt began, seconds since 1970.
      finished: when the outcome was known, seconds since 1970.
      attempts: how many times the tool's body was begun.
      outcome: `done`, `asked` (a person's answer runs the call again, with a row of its own),
        `failed` (it raised), `unknown` or `not run`.
      in_doubt: whether a process died between the begin and the outcome of an attempt, or the run
        was cancelled then.
      resolution: how the doubt was resolved: `rerun`, `at_most_once`, `ask`, `check`, `rejected`;
        '' if it was not.
      ran_in: the hidden session of an agent that was called as a tool; '' for `place` itself.
      damaged: what is wrong with the row, if it cannot be read; then only `place`, `number` and
        `finished` are known.
    """

    place: Place
    number: int
    finished: float
    tool: str = ""
    source: str = ""
    agent: str = ""
    invocation_id: str = ""
    call_id: str = ""
    key: str = ""
    asked_by: str = ""
    approved_by: str = ""
    args_digest: str = ""
    result_digest: str = ""
    begun: float = 0.0
    attempts: int = 0
    outcome: Outcome = "unknown"
    in_doubt: bool = False
    resolution: Resolution = ""
    ran_in: str = ""
    damaged: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the effect as a JSON object; the session's names are fields of it."""
        fields = asdict(self)
        del fields["place"]
        return {**self.place._asdict(), **fields}


class EffectFilter(NamedTuple):
    """Which effects to read; a field that is None restricts nothing.

    Attributes:
      app_name, user_id, session_id: of which sessions; a session needs app and user.
      since: only those that finished at this time or later, seconds since 1970.
      tool: only those of this tool.
      in_doubt: only those that were in doubt, or that were not.
    """

    app_name: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    since: float | None = None
    tool: str | None = None
    in_doubt: bool | None = None

    def accepts(self, effect: Effect) -> bool:
        """Return whether an effect has the wanted tool and doubt; a damaged one is not hidden."""
        if effect.damaged:
            return True
        return self.tool in (None, effect.tool) and self.in_doubt in (None, effect.in_doubt)


class EffectCursor(NamedTuple):
    """The last effect of a page: its time in milliseconds, its session's number, its own number."""

    finished: int
    sid: int
    number: int


@dataclass(frozen=True, slots=True)
class EffectPage:
    """A page of effects, newest first.

    Attributes:
      effects: the effects.
      next: where the next page begins; None after the last page.
    """

    effects: Sequence[Effect]
    next: EffectCursor | None = None


@dataclass(slots=True)
class EffectReport:
    """The result of verifying a ledger.

    Attributes:
      rows: how many rows were read.
      sessions: how many sessions have rows.
      trimmed: how many sessions lack their first rows, which pruning deletes.
      chained: how many rows have a hash.
      orphaned: how many rows and marks belong to a session that the store does not hold.
      problems: what is wrong, each with its session and row; at most 100.
      head: hash over the heads of all sessions; two equal ones mean equal ledgers.
      heads: the newest hash of each session.
      spans: the first and the last number of each session.
      pruned: which rows were pruned since an earlier report, by session.
      erased: sessions of an earlier report that the store does not hold any more. Their rows went
        with them; `problems` has the same, unless the caller accepted it.
    """

    rows: int = 0
    sessions: int = 0
    trimmed: int = 0
    chained: int = 0
    orphaned: int = 0
    problems: list[str] = field(default_factory=list[str])
    head: str = ""
    heads: dict[str, str] = field(default_factory=dict[str, str])
    spans: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    pruned: list[str] = field(default_factory=list[str])
    erased: list[str] = field(default_factory=list[str])


@runtime_checkable
class EffectLedger(Protocol):
    """A session service that keeps an effects ledger."""

    async def effects(
        self, which: EffectFilter = ..., *, limit: int = 100, after: EffectCursor | None = None
    ) -> EffectPage:
        """Return a page of effects, newest first."""
        ...

    async def verify_effects(
        self,
        earlier: Mapping[str, str] | None = None,
        spans: Mapping[str, Sequence[int]] | None = None,
        *,
        erased_ok: bool = False,
    ) -> EffectReport:
        """Read the whole ledger and check its numbers and hashes."""
        ...

    async def prune_effects(self, *, before: float, limit: int = 10_000) -> int:
        """Delete effects that finished before a time (seconds since 1970); return how many."""
        ...


class EffectMark(NamedTuple):
    """How far the ledger of a session was pruned: the last deleted row's number, time and hash.

    A mark that was changed by hand may hold other types.
    """

    app_name: str
    user_id: str
    session_id: str
    number: int
    finished: int
    hash: str | None


class OrphanedRows(NamedTuple):
    """Rows or marks of a session that the store does not hold; no deletion leaves any.

    Attributes:
      sid: the session's number.
      rows: how many rows of the ledger it has.
      marks: how many marks of pruning.
    """

    sid: int
    rows: int
    marks: int


class StoredEffect(NamedTuple):
    """A row of the ledger as stores hold it; the time is in milliseconds.

    `mark` is the number of the row that pruning deleted last, if that is the row's predecessor or a
    later one, and `mark_hash` its hash; only `verify_effects` reads them. A row that was changed by
    hand may hold other types, and texts with surrogates in place of bytes that are no UTF-8.
    """

    app_name: str
    user_id: str
    session_id: str
    sid: int
    number: int
    finished: int
    data: str
    hash: str | None
    mark: int | None = None
    mark_hash: str | None = None


class EffectWriter:
    """What a store has to know when it writes effects.

    Args:
      settings: how the ledger is kept.
    """

    __slots__ = ("_written", "chained", "keep_ms")

    def __init__(self, settings: EffectSettings) -> None:
        self.chained = settings.chained
        days = settings.keep_days
        self.keep_ms = None if days is None else int(days * _DAY_MS)
        self._written = 0

    def is_trim_due(self, added: int) -> bool:
        """Return whether the next write shall also delete old rows."""
        return self.keep_ms is not None and self._written + added >= _TRIM_EVERY

    def count(self, added: int) -> int | None:
        """Count rows that are written; return the time before which rows go now, or None."""
        due = self.is_trim_due(added)
        self._written = 0 if due else self._written + added
        return now_ms() - (self.keep_ms or 0) if due else None


def split_effects(rows: Sequence[JournalRow]) -> tuple[Sequence[JournalRow], Sequence[str]]:
    """Return the rows of the journal, and the texts of those that are effects."""
    for row in rows:
        if row.status == "effect":
            break
    else:
        return rows, ()
    return (
        [row for row in rows if row.status != "effect"],
        [row.result or "" for row in rows if row.status == "effect"],
    )


def continue_ledger(row: Sequence[Any] | None) -> tuple[int, int, str | None]:
    """Return the number, the time and the hash after which a session's ledger continues.

    Args:
      row: number, time and hash of its last row or of its mark; a damaged one may hold other types.
    """
    number, finished, last_hash = row or (0, 0, None)
    number = max(ceil(number), 0) if isinstance(number, (int, float)) else 0
    return number, max(finished if isinstance(finished, int) else 0, now_ms()), last_hash


def ledger_place(key: Sequence[str], rows: Sequence[JournalRow]) -> Place | None:
    """Return the session whose ledger keeps the effects in an append to another one, or None.

    An agent that is called as a tool runs in a hidden session, which is deleted after the call.

    Args:
      key: the session of the append.
      rows: what it appends.
    """
    for row in rows:
        if row.status == "effect":
            return Place(key[0], key[1], row.session_id) if row.session_id else None
    return None


def seed_hash(place: Sequence[str]) -> str:
    """Return what stands for the predecessor's hash in the first chained row of a session."""
    return hashlib.sha256(json.dumps([*place]).encode()).hexdigest()


def name_session(place: Sequence[str]) -> str:
    """Return a session's names as one text that no other session has."""
    return "/".join(one.replace("%", "%25").replace("/", "%2F") for one in place)


def read_session_name(name: str) -> Place | None:
    """Return the session of a name that `name_session` made; None for another text."""
    parts = [one.replace("%2F", "/").replace("%25", "%") for one in name.split("/")]
    return Place(*parts) if len(parts) == 3 else None


def chain_hash(previous: str, number: int, finished: int, data: str) -> str:
    """Return the hash of a row: SHA-256 over its predecessor's hash and its own content."""
    text = f"{previous}\n{number}\n{finished}\n{data}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_damage(row: StoredEffect) -> str:
    """Return which field of a row holds what no ledger writes; '' if none does."""
    damage = find_key_damage(row)
    if not damage and not is_readable(row.data):
        damage = f"its data cannot be read: {row.data!r:.80}"
    return damage


def find_key_damage(row: StoredEffect | EffectMark) -> str:
    """Return which of number, time and hash of a row or a mark is wrong; '' if none is."""
    if type(row.number) is not int:
        return f"its number is {row.number!r:.80}"
    if row.number < 1:
        return f"its number is {row.number}, and a ledger counts from 1"
    if type(row.finished) is not int or not 0 <= row.finished <= _LAST_MS:
        return f"its time is {row.finished!r:.80}"
    if row.hash is not None and not is_text(row.hash):
        return f"its hash is {row.hash!r:.80}"
    return ""


def decode_effect(row: StoredEffect) -> Effect:
    """Return the effect of a row; one that cannot be read says so in `damaged`."""
    place = Place(*row[:3])
    damage = find_damage(row)
    if damage:
        number, finished = (one if type(one) is int else 0 for one in (row.number, row.finished))
        finished = finished / 1000 if 0 <= finished <= _LAST_MS else 0.0
        return Effect(place, number, finished, damaged=damage)
    finished = row.finished / 1000
    try:
        tool, agent, call_id, invocation_id, args, result, took, *rest = split_row(row.data)
        attempts, outcome, resolution, approved, source, *ran_in = rest or DEFAULTS
        session_id = str(ran_in[0]) if ran_in else place.session_id
        return Effect(
            place,
            row.number,
            finished,
            tool=str(tool),
            source=str(source),
            agent=str(agent),
            invocation_id=str(invocation_id),
            call_id=str(call_id),
            key="/".join((*place[:2], session_id, invocation_id, call_id)),
            asked_by=place.user_id,
            approved_by=str(approved),
            args_digest=str(args),
            result_digest=str(result),
            begun=finished - int(took) / 1000,
            attempts=int(attempts),
            outcome=outcome,
            in_doubt=bool(resolution) or outcome == "unknown",
            resolution=resolution,
            ran_in=session_id if ran_in else "",
        )
    except (ValueError, TypeError, OverflowError) as error:
        return Effect(place, row.number, finished, damaged=f"{type(error).__name__}: {error}"[:200])

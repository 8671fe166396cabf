"""The effects ledger: a row per tool call that ran, kept beyond its invocation.

A row holds digests, never arguments or results. It is written in the transaction that finishes the
call. With a hash chain, each row of a session also holds a hash over itself and the row before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
      place: the session.
      number: its number within the session's ledger, from 1.
      tool: name of the tool.
      source: the tool's class, such as `FunctionTool`, `McpTool` or `RestApiTool`.
      agent: the agent that called it.
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
      outcome: `done`, `failed` (it raised), `unknown` or `not run`.
      in_doubt: whether a process died between the begin and the outcome of an attempt.
      resolution: how the doubt was resolved: `rerun`, `at_most_once`, `ask`, `check`, `rejected`.
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
      problems: what is wrong, each with its session and row; at most 100.
      head: hash over the heads of all sessions; two equal ones mean equal ledgers.
      heads: the newest hash of each session.
      spans: the first and the last number of each session.
      pruned: which rows were pruned since an earlier report, by session.
    """

    rows: int = 0
    sessions: int = 0
    trimmed: int = 0
    chained: int = 0
    problems: list[str] = field(default_factory=list[str])
    head: str = ""
    heads: dict[str, str] = field(default_factory=dict[str, str])
    spans: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    pruned: list[str] = field(default_factory=list[str])


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
    ) -> EffectReport:
        """Read the whole ledger and check its numbers and hashes."""
        ...

    async def prune_effects(self, *, before: float, limit: int = 10_000) -> int:
        """Delete effects that finished before a time (seconds since 1970); return how many."""
        ...


class EffectMark(NamedTuple):
    """How far the ledger of a session was pruned: the last deleted row's number and hash."""

    app_name: str
    user_id: str
    session_id: str
    number: int
    hash: str | None


class StoredEffect(NamedTuple):
    """A row of the ledger as stores hold it; the time is in milliseconds.

    `mark` is the row's predecessor's number if pruning has deleted that one last, and `mark_hash`
    its hash; only `verify_effects` reads them. A row that was changed by hand may hold other types,
    and texts with surrogates in place of bytes that are no UTF-8.
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


def seed_hash(place: Sequence[str]) -> str:
    """Return what stands for the predecessor's hash in the first chained row of a session."""
    return hashlib.sha256(json.dumps([*place]).encode()).hexdigest()


def name_session(place: Sequence[str]) -> str:
    """Return a session's names as one text that no other session has."""
    return "/".join(one.replace("%", "%25").replace("/", "%2F") for one in place)


def chain_hash(previous: str, number: int, finished: int, data: str) -> str:
    """Return the hash of a row: SHA-256 over its predecessor's hash and its own content."""
    text = f"{previous}\n{number}\n{finished}\n{data}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_damage(row: StoredEffect) -> str:
    """Return which field of a row holds what no ledger writes; '' if none does."""
    if type(row.number) is not int:
        return f"its number is {row.number!r:.80}"
    if type(row.finished) is not int or not 0 <= row.finished <= _LAST_MS:
        return f"its time is {row.finished!r:.80}"
    if row.hash is not None and not is_text(row.hash):
        return f"its hash is {row.hash!r:.80}"
    return "" if is_readable(row.data) else f"its data cannot be read: {row.data!r:.80}"


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
        attempts, outcome, resolution, approved, source = rest or DEFAULTS
        return Effect(
            place,
            row.number,
            finished,
            tool=str(tool),
            source=str(source),
            agent=str(agent),
            invocation_id=str(invocation_id),
            call_id=str(call_id),
            key="/".join((*place, invocation_id, call_id)),
            asked_by=place.user_id,
            approved_by=str(approved),
            args_digest=str(args),
            result_digest=str(result),
            begun=finished - int(took) / 1000,
            attempts=int(attempts),
            outcome=outcome,
            in_doubt=bool(resolution),
            resolution=resolution,
        )
    except (ValueError, TypeError, OverflowError) as error:
        return Effect(place, row.number, finished, damaged=f"{type(error).__name__}: {error}"[:200])


_UNHASHED = "has no hash, and the ledger was chained before: it was forged, or written unchained"


class EffectVerifier:
    """Checks rows that come session by session, each in the order of its numbers.

    Args:
      earlier: the `heads` of an earlier report; each has to be in the ledger still.
      spans: the `spans` of that report.
    """

    def __init__(
        self,
        earlier: Mapping[str, str] | None = None,
        spans: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self.report = EffectReport()
        self._earlier = dict(earlier or {})
        self._noted = frozenset(self._earlier)
        self._spans = dict(spans or {})
        self._sid = 0
        self._span: tuple[int, int] | None = None
        self._hash: str | None = None
        self._name = ""
        self._place: tuple[str, ...] = ()
        self._chained_since: int | None = None
        self._unhashed: dict[str, tuple[int, int]] = {}  # number and time of a session's last one

    def check(self, rows: Iterable[StoredEffect]) -> None:
        """Check the next rows."""
        for row in rows:
            if row.sid != self._sid:
                self._end_session()
                self._begin_session(row)
            self._check_row(row)

    def finish(self, marks: Sequence[EffectMark] = ()) -> EffectReport:
        """Return the report after the last row.

        Args:
          marks: how far sessions were pruned, to compare with an earlier report.
        """
        self._end_session()
        for name, (number, finished) in self._unhashed.items():
            if self._chained_since is not None and finished > self._chained_since:
                self._complain(name, number, _UNHASHED)
        self._note_pruned({name_session(one[:3]): one for one in marks})
        for name in self._earlier:
            self.report.problems.append(
                f"session {name!r}: the newest row of the earlier verification is gone"
            )
        text = json.dumps(self.report.heads, sort_keys=True)
        self.report.head = hashlib.sha256(text.encode()).hexdigest()
        return self.report

    def _note_pruned(self, marks: Mapping[str, EffectMark]) -> None:
        """Note what was pruned since the earlier report, up to rows that it names as the newest."""
        for name, mark in marks.items():
            first, last = self._spans.get(name, (0, 0))
            if first and mark.number >= first:
                self.report.pruned.append(f"session {name!r}: rows {first} to {mark.number}")
            if mark.hash is not None and mark.hash == self._earlier.get(name):
                del self._earlier[name]
            elif last and mark.number > last:
                self._earlier.pop(name, None)  # it was pruned, as `pruned` says

        for name, (_, last) in self._spans.items():
            now = self.report.spans.get(name, (0, 0))[1]
            was_pruned = name in marks and marks[name].number >= last
            if now < last and not was_pruned and name not in self._earlier:
                self.report.problems.append(
                    f"session {name!r}: rows up to {last} of the earlier verification are gone"
                )

    def _begin_session(self, row: StoredEffect) -> None:
        self._sid, self._span, self._hash = row.sid, None, None
        self._place = row[:3]
        self._name = name_session(self._place)
        self.report.sessions += 1

    def _end_session(self) -> None:
        if self._span is not None:
            self.report.spans[self._name] = self._span
        if self._hash is not None:
            self.report.heads[self._name] = self._hash

    def _check_row(self, row: StoredEffect) -> None:
        report, name, number = self.report, self._name, row.number
        report.rows += 1
        damage = find_damage(row)
        if damage:
            self._complain(name, number, f"is damaged: {damage}")
        if type(number) is not int:
            return  # it has no place in the order
        is_cut = self._span is None and number > 1  # its predecessors were deleted
        first, last = self._span or (number, number - 1)
        gap = number != last + 1
        if gap:
            self._complain(name, number, f"follows row {last}: rows between them were removed")
        report.trimmed += is_cut
        if is_cut and row.mark is None:
            what = "is the first one: rows before it were not pruned, and are gone"
            self._complain(name, number, what)
        previous = row.mark_hash if is_cut else self._hash
        if row.hash is None:
            self._check_unhashed(row, previous)
        else:
            can_compare = not gap and not (is_cut and row.mark_hash is None)
            self._check_hash(row, row.hash, previous, can_compare)
        self._span = first, number
        self._hash = row.hash if is_text(row.hash) else None

    def _check_hash(
        self, row: StoredEffect, given: str, previous: str | None, can_compare: bool
    ) -> None:
        """Check the hash of a row; it has to follow from the one before, if that is known."""
        name, number = self._name, row.number
        self.report.chained += 1
        if self._earlier.get(name) == given:
            del self._earlier[name]
        is_noted = not self._spans or name in self._noted
        if not is_noted and number == self._spans.get(name, (0, 0))[1]:
            what = "has a hash, and had none at the earlier verification"
            self._complain(name, number, what)
        if not can_compare:
            return
        previous = previous or seed_hash(self._place)
        if given != chain_hash(previous, number, row.finished, row.data):
            what = "was changed or reordered, or its predecessor was replaced"
            self._complain(name, number, what)
        elif self._chained_since is None or row.finished < self._chained_since:
            self._chained_since = row.finished

    def _check_unhashed(self, row: StoredEffect, previous: str | None) -> None:
        """Check that a row without a hash is from before the chain: of its session, then of all."""
        is_new = bool(self._noted and self._spans)  # it came after a verification that had hashes
        is_new = is_new and row.number > self._spans.get(self._name, (0, 0))[1]
        if previous is not None or is_new:
            self._complain(self._name, row.number, _UNHASHED)
        elif type(row.finished) is int:
            self._unhashed[self._name] = row.number, row.finished

    def _complain(self, name: str, number: int, what: str) -> None:
        if len(self.report.problems) < 100:
            self.report.problems.append(f"session {name!r}, row {number!r}: {what}")

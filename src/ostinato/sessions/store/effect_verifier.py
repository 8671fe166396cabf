"""Verification of an effects ledger: its numbers, its hashes, and an earlier verification."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from .effect_ledger import (
    EffectMark,
    EffectReport,
    OrphanedRows,
    StoredEffect,
    chain_hash,
    find_damage,
    find_key_damage,
    name_session,
    seed_hash,
)
from .effect_row import is_text

_MAX_PROBLEMS = 100
_UNCHAINED = (
    "has no hash, and this store keeps a chain: it was changed, or written before the chain or by "
    "a program without one; compare with a verification from before the chain"
)
_UNHASHED = "has no hash, and the ledger was chained before: it was forged, or written unchained"


class EffectVerifier:
    """Checks rows that come session by session, each in the order of its numbers.

    Args:
      earlier: the `heads` of an earlier report; each has to be in the ledger still.
      spans: the `spans` of that report.
      must_chain: whether a session without hashes is a problem, unless `earlier` lacks it, too.
    """

    def __init__(
        self,
        earlier: Mapping[str, str] | None = None,
        spans: Mapping[str, Sequence[int]] | None = None,
        must_chain: bool = False,
    ) -> None:
        self._must_chain = must_chain
        self.report = EffectReport()
        self._earlier = dict(earlier or {})
        self._noted = frozenset(self._earlier)
        self._spans = dict(spans or {})
        self._sid: int | None = None
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

    def check_orphans(self, orphans: Iterable[OrphanedRows]) -> None:
        """Report rows and marks of sessions that the store does not hold."""
        for sid, rows, marks in orphans:
            self.report.orphaned += rows + marks
            self._add_problem(
                f"session number {sid}, which the store does not hold: {rows} rows and {marks} "
                "marks of pruning; rows go with their session, so they were forged, or the session "
                "was removed by hand"
            )

    def find_missing(self, marks: Sequence[EffectMark]) -> list[str]:
        """Return the sessions of the earlier report that have no row and no mark any more."""
        known = {*self.report.spans, *(name_session(one[:3]) for one in marks)}
        known.add(self._name)
        return sorted({*self._noted, *self._spans} - known)

    def accept_erased(self, names: Iterable[str]) -> None:
        """Take the earlier report for one without these sessions, which were deleted."""
        for name in names:
            self._earlier.pop(name, None)
            self._spans.pop(name, None)

    def finish(self, marks: Sequence[EffectMark] = ()) -> EffectReport:
        """Return the report after the last row.

        Args:
          marks: how far sessions were pruned, to compare with an earlier report.
        """
        self._end_session()
        for name, (number, finished) in self._unhashed.items():
            if self._chained_since is not None and finished > self._chained_since:
                self._complain(name, number, _UNHASHED)
            elif self._must_chain and not self._may_lack_hash(name, number):
                self._complain(name, number, _UNCHAINED)
        self._note_pruned(self._check_marks(marks))
        for name in self._earlier:
            self.report.problems.append(
                f"session {name!r}: the newest row of the earlier verification is gone"
            )
        text = json.dumps(self.report.heads, sort_keys=True)
        self.report.head = hashlib.sha256(text.encode()).hexdigest()
        return self.report

    def _may_lack_hash(self, name: str, number: int) -> bool:
        """Return whether a row is known to be from before the chain.

        A row with a hash follows it in its session, or the earlier report has it without one.
        """
        is_known = number <= self._spans.get(name, (0, 0))[1] and name not in self._noted
        return is_known or name in self.report.heads

    def _check_marks(self, marks: Sequence[EffectMark]) -> dict[str, EffectMark]:
        """Return the marks that can be read, by session; report the others."""
        readable: dict[str, EffectMark] = {}
        for mark in marks:
            name, damage = name_session(mark[:3]), find_key_damage(mark)
            if damage:
                self._add_problem(f"session {name!r}: its mark of pruning is damaged: {damage}")
            else:
                readable[name] = mark
        return readable

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
        if type(number) is not int or number < 1:
            return  # it has no place in the order
        self._check_place(row)
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

    def _check_place(self, row: StoredEffect) -> None:
        """Check that a row is not below those that were pruned, or that were noted first."""
        if type(row.mark) is int and row.mark >= row.number:
            what = f"is there, though rows up to {row.mark} were pruned: it or the mark was forged"
            self._complain(self._name, row.number, what)
        if row.number < self._spans.get(self._name, (0, 0))[0]:
            what = "was not there at the earlier verification, and is below its first row"
            self._complain(self._name, row.number, what)

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
            newest = max(row.finished, self._unhashed.get(self._name, (0, 0))[1])
            self._unhashed[self._name] = row.number, newest

    def _complain(self, name: str, number: int, what: str) -> None:
        self._add_problem(f"session {name!r}, row {number!r}: {what}")

    def _add_problem(self, text: str) -> None:
        if len(self.report.problems) < _MAX_PROBLEMS:
            self.report.problems.append(text)

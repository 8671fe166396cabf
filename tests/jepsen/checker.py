"""The checker: what a history of concurrent clients says about the promises of a session store.

The model is a list with unique entries, read as a whole or as its end, whose state is the fold of
its entries. The check of its order is complete (`order.py`); the others are one rule each. An
operation whose outcome is unknown may have happened or not, but not twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.jepsen.history import FOREVER, Effect, Final, History, Logged, Operation
from tests.jepsen.order import Point, find_inversions, place_of_entry, place_of_read

CONFIRM = "adk_request_confirmation"
ONCE = frozenset({"act", "approve"})  # tools without a key: at most once, whatever happens
SHARED = "reg"  # the key that all clients and tools write
# Errors that a fault may cause. The message of an unknown outcome may be there, or not.
EXPECTED = re.compile(
    r"(StoreError|LeaseLostError|SessionBusyError|RunCancelledError|StaleSessionError"
    r"|TimeoutError|CallAlreadyAnsweredError|CallNotOpenError|RequestWithdrawnError)\b"
)
_MESSAGES = ("message", "submit")


class Violation(NamedTuple):
    """A promise that a history breaks.

    Attributes:
      kind: which rule.
      session: where.
      text: what happened.
    """

    kind: str
    session: str
    text: str


def check_history(history: History) -> list[Violation]:
    """Return everything that a history breaks; sessions are checked one by one."""
    found: list[Violation] = []
    for session, final in history.finals.items():
        operations = [each for each in history.operations if each.session == session]
        effects = [each for each in history.effects if each.session == session]
        found += SessionCheck(session, final, operations, effects).run()
    return [each for each in found if history.clocks_agree or each.kind != "last write"]


@dataclass
class _Interval:
    """When an entry was appended: not before its call, and not after it was seen to be there."""

    invoked: float = 0.0
    returned: float = FOREVER


class SessionCheck:
    """The check of one session.

    Args:
      session: its id.
      final: its log and state in the end.
      operations: what clients did to it.
      effects: what tools did for it.
    """

    def __init__(
        self,
        session: str,
        final: Final,
        operations: Sequence[Operation],
        effects: Sequence[Effect],
    ) -> None:
        self._session, self._final = session, final
        self._operations, self._effects = operations, effects
        self._places = {event.id: index for index, event in enumerate(final.events)}
        self._tagged = {event.tag: event for event in final.events if event.tag}
        self._by_tag: dict[str, list[Operation]] = defaultdict(list)
        for operation in operations:
            if operation.tag:
                self._by_tag[operation.tag].append(operation)
        self._folds = list(_fold_states(final.events))

    def run(self) -> list[Violation]:
        """Return what is wrong."""
        rules = (
            ("lost", self._find_lost),
            ("doubled", self._find_doubled),
            ("phantom", self._find_phantoms),
            ("read", self._find_wrong_reads),
            ("order", self._find_disorder),
            ("queue", self._find_overtaking),
            ("state", self._find_wrong_states),
            ("overwritten", self._find_overwritten),
            ("last write", self._find_outdated_values),
            ("answer", self._find_wrong_answers),
            ("effect", self._find_wrong_effects),
            ("unsettled", self._find_unsettled),
            ("error", self._find_strange_errors),
        )
        return [Violation(kind, self._session, text) for kind, rule in rules for text in rule()]

    def _find_lost(self) -> Iterator[str]:
        """Find what was acknowledged, seen or accepted and is not in the log."""
        for operation in self._operations:
            if operation.kind == "append" and operation.outcome == "ok":
                if operation.data["id"] not in self._places:
                    yield f"{operation.name}: event {operation.data['id']} was acknowledged"
            for event_id, when in operation.seen:
                if event_id not in self._places:
                    yield f"{operation.name}: event {event_id} was handed on at {when:.3f}"
            is_accepted = operation.outcome == "ok" and operation.kind in (*_MESSAGES, "answer")
            if operation.kind in _MESSAGES and not _has_left(operation):
                is_accepted = is_accepted or operation.accepted < FOREVER
            if is_accepted and operation.tag not in self._tagged:
                yield f"{operation.name}: message {operation.tag} was accepted"

    def _find_doubled(self) -> Iterator[str]:
        ids = Counter(event.id for event in self._final.events)
        yield from (f"event {each} is stored {n} times" for each, n in ids.items() if n > 1)
        tags = Counter(event.tag for event in self._final.events if event.tag in self._by_tag)
        yield from (f"{each!r} is stored {n} times" for each, n in tags.items() if n > 1)

    def _find_phantoms(self) -> Iterator[str]:
        """Find entries of the outside that no client wrote, or whose writer was refused."""
        for event in self._final.events:
            tries = self._by_tag.get(event.tag, [])
            if event.author != "root" and not tries and not event.tag.startswith("final"):
                yield f"event {event.id} ({event.tag!r} of {event.author}) was never written"
            if tries and all(each.outcome == "fail" for each in tries):
                yield f"{event.tag!r} is stored, but {tries[0].name} was refused: {tries[0].error}"

    def _find_wrong_reads(self) -> Iterator[str]:
        """Find reads that are no beginning of the log, or no end of one."""
        log = [event.id for event in self._final.events]
        for operation in self._reads():
            ids = operation.result["ids"]
            length = self._length_of(operation)
            wanted = log[max(0, length - len(ids)) : length]
            if ids != wanted:
                at = next(
                    (
                        i
                        for i, pair in enumerate(zip(ids, wanted, strict=False))
                        if pair[0] != pair[1]
                    ),
                    -1,
                )
                yield f"{operation.name}: {len(ids)} events, another one from index {at} on"

    def _find_disorder(self) -> Iterator[str]:
        """Find where the order of the log contradicts real time (see `order.py`)."""
        points = [
            Point(place_of_read(self._length_of(each)), each.invoked, each.returned, each.name)
            for each in self._reads()
        ]
        for event_id, interval in self._find_intervals().items():
            if event_id in self._places:
                place = place_of_entry(self._places[event_id])
                points.append(Point(place, interval.invoked, interval.returned, event_id))
        yield from _describe_inversions(points)

    def _find_overtaking(self) -> Iterator[str]:
        """Find messages that came later than another was accepted, and were begun before it."""
        points: list[Point] = []
        for tag, tries in self._by_tag.items():
            if tries[0].kind in _MESSAGES and tag in self._tagged:
                accepted = min(
                    FOREVER if _has_left(each) else min(each.accepted, _returned_well(each))
                    for each in tries
                )
                invoked = min(each.invoked for each in tries)
                place = self._places[self._tagged[tag].id]
                points.append(Point(place, invoked, accepted, tag))
        yield from _describe_inversions(points)

    def _find_wrong_states(self) -> Iterator[str]:
        """Find states that are not the fold of the events that were read with them."""
        for operation in self._reads():
            wanted = self._folds[self._length_of(operation)]
            if operation.result["state"] != wanted:
                yield f"{operation.name}: read {operation.result['state']}, the log says {wanted}"
        if self._final.state != self._folds[-1]:
            yield f"in the end {self._final.state}, the log says {self._folds[-1]}"

    def _find_overwritten(self) -> Iterator[str]:
        """Find appends from outside that overwrote a value which their session did not show."""
        for operation in self._operations:
            at = self._places.get(operation.data.get("id", ""))
            if operation.kind != "append" or operation.outcome != "ok" or at is None:
                continue
            own, seen = set(operation.data["own"]), operation.data["seen"]
            unseen = [e for e in self._final.events[seen:at] if e.id not in own]
            theirs: dict[str, Any] = {}
            for event in unseen:
                theirs.update(event.delta)
            for key, value in self._final.events[at].delta.items():
                if key in theirs and theirs[key] != value:
                    yield f"{operation.name} overwrote the unseen {key} = {theirs[key]!r}"

    def _find_outdated_values(self) -> Iterator[str]:
        """Find where the shared key has a value that was written before another committed one.

        An append from outside may bring an older value: it replaces only what its writer has seen.
        """
        written = {each.value: each.written for each in self._effects}
        newest, newest_value, current = 0.0, "", (0.0, FOREVER)
        for event in self._final.events:
            for _, _, response in event.responses:
                value = response.get("value", "")
                if value in written and written[value][0] > newest:
                    newest, newest_value = written[value][0], value
            if SHARED in event.delta:
                value = event.delta[SHARED]
                current = written.get(str(value), (event.time, event.time))
                if current[0] > newest or event.author != "root":
                    newest, newest_value = current[0], value
            if current[1] < newest:
                yield f"after event {event.id}, a value older than {newest_value!r} holds"
                return

    def _find_wrong_answers(self) -> Iterator[str]:
        """Find calls with two answers, and refusals that contradict the log."""
        stored: dict[str, list[str]] = defaultdict(list)
        for event in self._final.events:
            for call, name, response in event.responses:
                if name == CONFIRM:
                    stored[call].append(str(response.get("payload")))
        tries: dict[str, list[Operation]] = defaultdict(list)
        for operation in self._operations:
            if operation.kind == "answer":
                tries[operation.data["call"]].append(operation)
        for call, answers in stored.items():
            if len(answers) > 1:
                yield f"call {call} has {len(answers)} answers: {answers}"
        for call, made in tries.items():
            yield from _find_contradictions(call, made, stored.get(call, []))

    def _find_wrong_effects(self) -> Iterator[str]:
        """Find effects that happened twice, without leave, or not at all."""
        begun = Counter((each.tool, each.what) for each in self._effects if each.tool in ONCE)
        yield from (f"{tool} was done {n} times for {w}" for (tool, w), n in begun.items() if n > 1)
        keys: dict[str, set[str]] = defaultdict(set)
        for effect in self._effects:
            if effect.key:
                keys[effect.what].add(effect.key)
        yield from (f"pay for {w} had {len(k)} keys" for w, k in keys.items() if len(k) > 1)
        values = {each.value for each in self._effects}
        answers: dict[str, int] = Counter()
        for event in self._final.events:
            for call, name, response in event.responses:
                if name in ("act", "pay"):
                    answers[call] += 1
                if response.get("value") not in (None, *values):
                    yield f"{name} of {call} is said to be done, and was not"
        yield from (f"call {call} has {n} responses" for call, n in answers.items() if n > 1)
        yield from self._find_unapproved()

    def _find_unapproved(self) -> Iterator[str]:
        given = [each for each in self._operations if each.kind == "answer"]
        for effect in self._effects:
            if effect.tool == "approve" and not any(
                each.data["what"] == effect.what
                and each.data["confirmed"]
                and each.outcome != "fail"
                and each.invoked < effect.time
                for each in given
            ):
                yield f"approve was done for {effect.what} before anybody approved it"

    def _find_unsettled(self) -> Iterator[str]:
        yield from self._final.left
        given = {call for event in self._final.events for call, _, _ in event.responses}
        for event in self._final.events:
            for call, name in event.calls:
                if call not in given and name != CONFIRM:
                    yield f"call {call} of {name} has no response"

    def _find_strange_errors(self) -> Iterator[str]:
        for operation in self._operations:
            if operation.error and not EXPECTED.match(operation.error):
                yield f"{operation.name} ({operation.kind}): {operation.error}"

    def _find_intervals(self) -> dict[str, _Interval]:
        """Return, for each event, when it was appended as far as the clients know."""
        intervals: dict[str, _Interval] = defaultdict(_Interval)
        begun: dict[str, float] = {}
        for tag, event in self._tagged.items():
            tries = [each for each in self._by_tag.get(tag, ()) if each.outcome != "fail"]
            if not tries:
                continue
            interval = intervals[event.id]
            interval.invoked = min(each.invoked for each in tries)
            if tries[0].kind == "append":
                interval.returned = min(map(_returned_well, tries))
            elif event.invocation:
                began = begun.get(event.invocation, interval.invoked)
                begun[event.invocation] = min(began, interval.invoked)
        for event in self._final.events:
            if event.id not in intervals and event.invocation in begun:
                intervals[event.id].invoked = begun[event.invocation]
        for operation in self._operations:
            for event_id, when in operation.seen:
                interval = intervals[event_id]
                interval.returned = min(interval.returned, when)
        return intervals

    def _reads(self) -> Iterator[Operation]:
        for operation in self._operations:
            if operation.kind in ("read", "tail") and operation.outcome == "ok":
                yield operation

    def _length_of(self, operation: Operation) -> int:
        """Return up to where a read saw the log."""
        ids = operation.result["ids"]
        if operation.kind == "read" or not ids:
            return min(len(ids), len(self._final.events))
        return self._places.get(ids[-1], -1) + 1


def _find_contradictions(
    call: str, made: Sequence[Operation], stored: Sequence[str]
) -> Iterator[str]:
    """Find answers to one call that were accepted beside another one.

    Args:
      call: the call.
      made: the tries to answer it.
      stored: the answers that the log has.
    """
    accepted = sorted({each.tag for each in made if each.outcome == "ok"})
    if len(accepted) > 1:
        yield f"call {call}: {len(accepted)} answers were accepted: {accepted}"
    for each in made:
        if each.accepted < FOREVER and each.error.startswith("CallAlreadyAnswered"):
            yield f"{each.name}: the answer was accepted, and refused later"
    named = {each.result["first"] for each in made if each.result.get("first")}
    withdrawn = {each.tag for each in made if _has_left(each)} - {*stored}
    if len({*named, *accepted, *stored} - withdrawn) > 1:
        yield f"call {call}: accepted {accepted}, refusals name {sorted(named)}"


def _returned_well(operation: Operation) -> float:
    return operation.returned if operation.outcome == "ok" else FOREVER


def _has_left(operation: Operation) -> bool:
    """Return whether the client took its request back because that took too long."""
    return operation.error.startswith("TimeoutError")


def _describe_inversions(points: Sequence[Point]) -> Iterator[str]:
    for first, second in find_inversions(points):
        late = first.invoked - second.returned
        yield f"{second.name} had returned {late:.3f} s before {first.name}, which precedes it"


def _fold_states(events: Sequence[Logged]) -> Iterator[Mapping[str, Any]]:
    """Yield the state before the first event, and after each."""
    state: dict[str, Any] = {}
    yield state
    for event in events:
        if event.delta:
            state = {**state, **event.delta}
            state = {key: value for key, value in state.items() if value is not None}
        yield state

"""Projections of the event log to contents, the model's view of a conversation.

A `Projection` is cached per session, agent and branch, and new records extend it. A record that
changes earlier contents (rewind, compaction, late response, transcription) rebuilds it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from .... import types
from ....events.event_actions import EventCompaction
from ....sessions.log.event_log import (
    COMPACTION,
    REWIND,
    EventLog,
    EventRecord,
    in_force,
    visible_records,
)
from .arrangement import (
    NO_IDS,
    BesideEntry,
    ContentEntry,
    SharedEntry,
    arrange_entries,
    close_calls,
    find_open_end,
    keep_responses,
)
from .mixed_messages import has_parts_to_split, is_addressed, make_message_entries
from .visibility import (
    StoredContent,
    View,
    is_in_view,
    is_internal,
    is_of_other,
    is_visible_part,
    list_shown_answers,
    quote_other_agent,
    strip_client_ids,
)

_FIELDS_SETS: dict[frozenset[str], set[str]] = {}


class Projection:
    """The contents of a log for one view.

    Attributes:
      view: the view.
      start: index of the first record to include.
      cursor: index of the first record that is not included yet.
      contents: the contents of all records before `cursor`; each call has a response.
    """

    __slots__ = (
        "_asked",
        "_closed_at",
        "_foreign_calls",
        "_has_summaries",
        "_open",
        "_stale",
        "contents",
        "cursor",
        "start",
        "view",
    )

    def __init__(self, view: View, start: int = 0) -> None:
        self.view = view
        self.start = start
        self.cursor = start
        self.contents: list[types.Content] = []
        self._asked = NO_IDS  # ids of the calls of the last content
        # The last entries, if they are calls of which one has no response: the calls, and the
        # responses to the others. Next, the index of their contents while these are closed.
        self._open: tuple[ContentEntry, ...] = ()
        self._closed_at: int | None = None
        self._foreign_calls: set[str | None] | None = None
        self._has_summaries = False
        self._stale = False

    def update(self, log: EventLog) -> list[types.Content]:
        """Add the new records of `log` and return the projection's own list of contents."""
        records = log.records
        while self.cursor < len(records) and not self._stale:
            record = records[self.cursor]
            if record.kinds & (REWIND | COMPACTION) or not self._extend(record):
                self._stale = True
            self.cursor += 1
        if self._stale:
            self._rebuild(log)
        if self._open and self._closed_at is None:
            self._closed_at = self._show_closed(self._open)
        return self.contents

    def _extend(self, record: EventRecord) -> bool:
        """Append a record's content; return False if earlier contents would have to change."""
        foreign = self._foreign_calls or set()
        entry = make_entry(record, self.view, foreign)
        self._foreign_calls = foreign or None  # most have none
        if entry is None:
            # Inlined: most records that the view does not show hold no answer.
            return not (record.responses and make_message_entries(record, self.view, foreign))
        if isinstance(entry, _SpokenEntry):
            return False
        if not entry.responses <= self._asked:
            return False
        if self._has_summaries and not entry.responses and not _are_known(record, foreign):
            return False  # the quoted result may be that of a covered call
        if self._open:
            if self._closed_at is None and self._open[0].calls <= entry.responses:
                self._open = ()  # inlined: most calls are answered at once
            else:
                self._continue_open(entry)
        self.contents.append(entry.content)
        self._asked = entry.calls
        if entry.calls:
            self._open = (entry,)
        return True

    def _continue_open(self, entry: ContentEntry) -> None:
        """Prepare for the entry that follows the open calls: responses to them, or another."""
        calls, self._open = self._open, ()
        if not entry.responses:
            if self._closed_at is None:
                self._show_closed(calls)
        else:
            if self._closed_at is not None:
                self.contents[self._closed_at :] = [e.content for e in calls]
            if not calls[0].calls <= entry.responses:
                self._open = (calls[0], entry)
        self._closed_at = None

    def _show_closed(self, calls: Sequence[ContentEntry]) -> int:
        """Close the open calls that end the contents; return the index of their content."""
        start = len(self.contents) - len(calls)
        self.contents[start:] = close_calls(calls, self.view.is_nested)
        return start

    def _rebuild(self, log: EventLog) -> None:
        kept, foreign = visible_records(log, self.start), set[str | None]()
        entries = make_entries(kept, self.view, foreign)
        self._foreign_calls = foreign or None
        self._has_summaries = any(record.kinds & COMPACTION for record in kept)
        arranged = arrange_entries(entries)
        self._open, self._closed_at = find_open_end(arranged), None
        end = len(arranged) - len(self._open)
        self.contents = close_calls(arranged[:end], self.view.is_nested)
        self.contents += [e.content for e in self._open]
        self.cursor = len(log.records)
        self._asked = arranged[-1].calls if arranged else NO_IDS
        # A late response changes only the request that it ends, so the next one is rebuilt.
        self._stale = bool(entries and entries[-1].responses and arranged != entries)


class _SpokenEntry(ContentEntry):
    """A live transcription, merged with its neighbours before it becomes a content.

    Attributes:
      quoted: the other agent that said it; None for the user and the viewing agent.
    """

    __slots__ = ("quoted",)

    def __init__(self, content: types.Content, quoted: str | None) -> None:
        super().__init__(content)
        self.quoted = quoted

    def to_entry(self, view: View) -> ContentEntry | None:
        """Return this entry, quoted if another agent said it; None if nothing is left."""
        if self.quoted is None:
            return self
        content = quote_other_agent(self.content, self.quoted, view.quote)
        return None if content is None else ContentEntry(content)


def make_entry(
    record: EventRecord, view: View, foreign_calls: set[str | None]
) -> ContentEntry | _SpokenEntry | None:
    """Return a record as an entry, or None if the view does not show it (Spec 2 §4.1)."""
    if not is_in_view(record, view):
        return None
    if (record.calls or record.responses) and is_internal(record):
        return None
    is_answer = record.author == "user" and bool(record.responses)
    if is_answer and has_parts_to_split(record, view, foreign_calls):
        return None  # see `make_message_entries`
    stored = record.read_as(StoredContent)
    content = stored.content
    other = is_of_other(record, view)
    if content is None or not content.role or not any(map(is_visible_part, content.parts or ())):
        return _make_spoken_entry(stored, record.author if other else None)
    # Lists, because each item of a generator is a call.
    calls = frozenset([call for call, _ in record.calls]) if record.calls else NO_IDS
    responses = frozenset([call for call, _ in record.responses]) if record.responses else NO_IDS
    if other and calls:
        foreign_calls |= calls
    elif foreign_calls:
        foreign_calls -= calls  # an imported history may use an id again
    if other or (responses and responses <= foreign_calls):
        quoted = quote_other_agent(content, record.author, view.quote)
        if quoted is None:
            return None
        # A result for another agent may be read first beside a result of the agent's own.
        return (ContentEntry if other else BesideEntry)(quoted, source=record)
    if not view.keep_ids and (calls or responses):
        strip_client_ids(content)
    _intern_fields_sets(content)
    kind = SharedEntry if is_answer and not is_addressed(record, view) else ContentEntry
    return kind(content, calls, responses, record)


def _are_known(record: EventRecord, foreign_calls: set[str | None]) -> bool:
    """Return whether a record answers only calls of other agents that the view has shown."""
    return all(call in foreign_calls for call, _ in record.responses)


def _intern_fields_sets(content: types.Content) -> None:
    """Share the sets of field names that pydantic keeps for each record of a content.

    They are a third of a content's memory, and the contents of a projection are never edited.
    """
    parts = content.parts or ()
    nested = [p.function_call or p.function_response for p in parts]
    for record in (content, *parts, *nested):
        if record is None:
            continue
        names = record.__pydantic_fields_set__
        shared = _FIELDS_SETS.setdefault(frozenset(names), names)
        object.__setattr__(record, "__pydantic_fields_set__", shared)


def _make_spoken_entry(stored: StoredContent, quoted: str | None) -> "_SpokenEntry | None":
    speech = (("user", stored.inputTranscription), ("model", stored.outputTranscription))
    for role, transcription in speech:
        if transcription and transcription.get("text"):
            content = types.Content(role=role, parts=[types.Part(text=transcription["text"])])
            return _SpokenEntry(content, quoted)
    return None


def make_entries(
    records: Sequence[EventRecord], view: View, foreign_calls: set[str | None] | None = None
) -> list[ContentEntry]:
    """Return records as entries: compaction applied, transcriptions merged, others quoted.

    A summary covers the conversation itself, so isolation scopes do not see it. A covered call
    whose response came later is shown behind the summary, because the response needs it.
    """
    foreign = set[str | None]() if foreign_calls is None else foreign_calls
    summaries, hidden = find_summaries(records)
    late = _find_late_answered_calls(records, view, summaries, hidden) if hidden else {}
    entries: list[ContentEntry] = []
    for index, record in enumerate(records):
        entry = None if index in hidden else make_entry(record, view, foreign)
        if index in hidden and record.calls:  # of an id that is used again, the newest call counts
            foreign.difference_update(call for call, _ in record.calls)
        if isinstance(entry, _SpokenEntry) and _merge_transcription(entries, entry):
            entry = None
        if entry is not None:
            entries.append(entry)
        elif index not in hidden and record.responses:
            entries += make_message_entries(record, view, foreign)
        for summary in summaries.get(index, ()) if view.scope is None else ():
            content = summary.compacted_content.model_copy(deep=True)
            quoted = quote_other_agent(content, "model", view.quote)
            if quoted is not None:
                entries.append(ContentEntry(quoted, source=record))
        for call in late.get(index, ()):
            entries += _make_covered_entries(call, view, foreign)
    shown = [e.to_entry(view) if isinstance(e, _SpokenEntry) else e for e in entries]
    return [entry for entry in shown if entry is not None]


def _merge_transcription(entries: list[ContentEntry], entry: _SpokenEntry) -> bool:
    """Append a transcription to the last entry if the same speaker said both."""
    last = entries[-1] if entries else None
    if not isinstance(last, _SpokenEntry):
        return False
    if (last.content.role, last.quoted) != (entry.content.role, entry.quoted):
        return False
    text = "".join(p.text or "" for e in (last, entry) for p in e.content.parts or ())
    last.content = types.Content(role=last.content.role, parts=[types.Part(text=text)])
    return True


class _CoveredCall(NamedTuple):
    """A call that a summary covers and that a response behind the summary needs.

    Attributes:
      record: the record of the call, and of those that were made with it.
      answers: covered records that answer some of these calls.
    """

    record: EventRecord
    answers: list[EventRecord]


def _find_late_answered_calls(
    records: Sequence[EventRecord],
    view: View,
    summaries: dict[int, list[EventCompaction]],
    hidden: set[int],
) -> dict[int, list[_CoveredCall]]:
    """Return the covered calls that a shown record answers, by the index that they follow."""
    newest: dict[str | None, int] = {}
    answers: dict[int, dict[int, None]] = {}  # covered answers by their call, in order
    late: dict[int, int] = {}  # the first shown answer by its call
    for index, record in enumerate(records):
        if not (record.calls or record.responses) or not is_in_view(record, view):
            continue
        for call in list_shown_answers(record) if record.responses else ():
            at = newest.get(call)
            if at is None or at not in hidden:
                continue
            if is_of_other(record, view) and not is_of_other(records[at], view):
                continue  # quoted, so it does not answer the agent's own call
            if index in hidden:
                answers.setdefault(at, {})[index] = None
            else:
                late.setdefault(at, index)
        if record.calls and not is_internal(record):
            newest.update((call, index) for call, _ in record.calls)
    found: dict[int, list[_CoveredCall]] = {}
    for at, first in sorted(late.items()):
        time = records[at].timestamp
        covering = [i for i, made in summaries.items() if any(_covers(one, time) for one in made)]
        place = min(max(covering, default=at), first - 1)
        covered = [records[index] for index in answers.get(at, ())]
        found.setdefault(max(at, place), []).append(_CoveredCall(records[at], covered))
    return found


def _covers(compaction: EventCompaction, time: float) -> bool:
    return compaction.start_timestamp <= time <= compaction.end_timestamp


def _make_covered_entries(
    call: _CoveredCall, view: View, foreign_calls: set[str | None]
) -> list[ContentEntry]:
    """Return the entries of a covered call, with all calls that were made with it.

    The whole record is shown, as a model's signatures are those of whole contents.
    """
    entry = make_entry(call.record, view, foreign_calls)
    if entry is None or isinstance(entry, _SpokenEntry):
        return []
    found = [entry]
    for record in call.answers if entry.calls else ():
        answer = make_entry(record, view, foreign_calls)
        if isinstance(answer, ContentEntry) and answer.responses & entry.calls:
            found.append(keep_responses(answer, entry.calls))
    return found


def find_summaries(
    records: Sequence[EventRecord],
) -> tuple[dict[int, list[EventCompaction]], set[int]]:
    """Return the summaries in force and the records that they replace.

    Returns:
      Summaries by the index of the last record that each replaces, and the indexes of all records
      that a request leaves out: the replaced ones and the compaction records themselves.
    """
    found: list[EventCompaction] = []
    for record in records:
        if record.kinds & COMPACTION:
            compaction = record.event().actions.compaction
            if compaction is not None:
                found.append(compaction)
    if not found:
        return {}, set()
    kept = in_force(found)
    starts = [c.start_timestamp for c in kept]
    last_covered: dict[int, int] = {}
    hidden: set[int] = set()
    for index, record in enumerate(records):
        if record.kinds & COMPACTION:
            hidden.add(index)
            continue
        # Kept ranges are sorted by both ends, so those that cover a time are adjacent.
        position = bisect_right(starts, record.timestamp) - 1
        while position >= 0 and record.timestamp <= kept[position].end_timestamp:
            last_covered[position] = index
            if record.scope is None:  # a scope's agent does not see the summary
                hidden.add(index)
            position -= 1
    summaries: dict[int, list[EventCompaction]] = {}
    for position, compaction in enumerate(kept):
        summaries.setdefault(last_covered.get(position, 0), []).append(compaction)
    return summaries, hidden

"""Projections of the event log to contents, the model's view of a conversation.

A `Projection` is cached per session, agent and branch, and new records extend it. A record that
changes earlier contents (rewind, compaction, late response, transcription) rebuilds it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from .... import types
from ....events.event_actions import EventActions, EventCompaction
from ....events.pending import IMPORTED
from ....events.request_input import QUESTION_ID, TOOL_QUESTION
from ....models.llm_request import CLIENT_ID_PREFIX
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
    arrange_entries,
    close_calls,
    find_open_end,
)

RESERVED_CALLS = frozenset(("adk_request_credential", "adk_request_confirmation", "adk_framework"))
NO_REQUEST = "ostinato:no_request"
"""Custom metadata key of a model's response that calls a tool by a reserved name."""
# The framework makes this call, but a long-running tool has the name, too, and the model needs its
# answers.
INPUT_REQUEST = "adk_request_input"
_FIELDS_SETS: dict[frozenset[str], set[str]] = {}


class _StoredContent(BaseModel):
    """The fields of a stored event that contents are built from."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    content: types.Content | None = None
    inputTranscription: dict[str, Any] | None = None
    outputTranscription: dict[str, Any] | None = None
    actions: EventActions | None = None


class View(NamedTuple):
    """The agent that sees a conversation, and which part; the key of its projection.

    Attributes:
      agent_name: the agent; messages of other agents are quoted.
      branch: its branch.
      keep_ids: whether client-made ids stay in calls and responses.
      quote: whether to mark quotes of other agents as untrusted data.
      scope: isolation scope; events of other scopes are hidden.
      path: node of a graph, which sees only its own run and the user's answers.
      is_nested: whether open calls are hidden, because they are those of the containing run.
    """

    agent_name: str
    branch: str | None = None
    keep_ids: bool = False
    quote: bool = False
    scope: str | None = None
    path: str | None = None
    is_nested: bool = False


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
            return not (
                record.responses and make_entries_beside_answers(record, self.view, foreign)
            )
        if isinstance(entry, _SpokenEntry):
            return False
        if not entry.responses <= self._asked:
            return False
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
        arranged = arrange_entries(entries)
        self._open, self._closed_at = find_open_end(arranged), None
        end = len(arranged) - len(self._open)
        self.contents = close_calls(arranged[:end], self.view.is_nested)
        self.contents += [e.content for e in self._open]
        self.cursor = len(log.records)
        self._asked = arranged[-1].calls if arranged else NO_IDS
        # A late response changes only the request that it ends, so the next one is rebuilt.
        self._stale = bool(entries and entries[-1].responses and arranged != entries)


def belongs_to_branch(branch: str | None, event_branch: str | None) -> bool:
    """Return whether an event of `event_branch` is visible on `branch` (Spec 2 §4.3)."""
    if not branch or not event_branch:
        return True
    return branch == event_branch or branch.startswith(event_branch + ".")


def is_visible_part(part: types.Part) -> bool:
    """Return whether a part counts as content (Spec 2 §4.3)."""
    if part.function_call is not None or part.function_response is not None:
        return True
    if part.thought:
        return False
    return bool(
        part.text
        or part.inline_data
        or part.file_data
        or part.executable_code
        or part.code_execution_result
    )


def is_internal(record: EventRecord) -> bool:
    """Return whether a record is one of the runtime's own requests, or the answer to one.

    A call that a model made up under a reserved name is not: the model gets an error for it.
    """
    for call, name in record.calls:
        if name == INPUT_REQUEST and (
            call not in record.long_running or record.has_metadata(TOOL_QUESTION)
        ):
            return True
        if name in RESERVED_CALLS and not record.has_metadata(NO_REQUEST):
            return True
    for call, name in record.responses:
        if call is not None and call.startswith(QUESTION_ID):
            return True
        if name in RESERVED_CALLS:
            return record.author == "user" or record.has_metadata(IMPORTED)
    return False


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
    if not _is_in_view(record, view):
        return None
    if (record.calls or record.responses) and is_internal(record):
        return None
    stored = _StoredContent.model_validate_json(record.data)
    content = stored.content
    other = record.author not in ("user", view.agent_name) and bool(view.agent_name)
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
        return None if quoted is None else ContentEntry(quoted, source=record)
    if not view.keep_ids and (calls or responses):
        strip_client_ids(content)
    _intern_fields_sets(content)
    return ContentEntry(content, calls, responses, record)


def _is_in_view(record: EventRecord, view: View) -> bool:
    """Return whether a record is of the scope, branch and node of a view."""
    if record.scope != view.scope or not belongs_to_branch(view.branch, record.branch):
        return False
    if view.path is None or record.path == view.path:
        return True
    return record.author == "user" and bool(record.responses)


def make_entries_beside_answers(
    record: EventRecord, view: View, foreign_calls: set[str | None]
) -> list[ContentEntry]:
    """Return the entries of what a message holds beside its answers to requests of the runtime:
    results of long-running calls, and text and files.

    google-adk hides the whole message; Ostinato hides the answers only.
    """
    reserved = {call for call, name in record.responses if name in RESERVED_CALLS}
    if not reserved or record.author != "user" or record.has_metadata(IMPORTED):
        return []
    if not _is_in_view(record, view):
        return []
    content = _StoredContent.model_validate_json(record.data).content
    if content is None or not content.role:
        return []
    shown = [part for part in content.parts or () if is_visible_part(part)]
    results = [p for p in shown if p.function_response and p.function_response.id not in reserved]
    said = [part for part in shown if part.function_response is None]
    found: list[ContentEntry] = []
    if results:
        ids = tuple(p.function_response.id for p in results if p.function_response)
        given = types.Content(role=content.role, parts=results)
        if foreign_calls.issuperset(ids):
            quoted = quote_other_agent(given, record.author, view.quote)
            found += [] if quoted is None else [BesideEntry(quoted, source=record)]
        else:
            if not view.keep_ids:
                strip_client_ids(given)
            found.append(BesideEntry(given, responses=frozenset(ids), source=ids))
    if said:
        found.append(BesideEntry(types.Content(role=content.role, parts=said), source=record))
    return found


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


def _make_spoken_entry(stored: _StoredContent, quoted: str | None) -> "_SpokenEntry | None":
    speech = (("user", stored.inputTranscription), ("model", stored.outputTranscription))
    for role, transcription in speech:
        if transcription and transcription.get("text"):
            content = types.Content(role=role, parts=[types.Part(text=transcription["text"])])
            return _SpokenEntry(content, quoted)
    return None


def strip_client_ids(content: types.Content) -> None:
    """Remove client-made call ids, which the model never gave (Spec 2 §6.9)."""
    for part in content.parts or ():
        holder = part.function_call or part.function_response
        if holder is not None and holder.id and holder.id.startswith(CLIENT_ID_PREFIX):
            holder.id = None


def quote_other_agent(
    content: types.Content, author: str, marked: bool = False
) -> types.Content | None:
    """Quote another agent's message as user content; None if nothing is left (Spec 2 §4.1)."""
    parts = [types.Part(text="For context:")]
    for part in content.parts or ():
        if part.thought:
            continue
        text = None
        if part.text is not None and part.text.strip():
            text = f"[{author}] said: {part.text}"
        elif part.function_call is not None:
            call = part.function_call
            text = f"[{author}] called tool `{call.name}` with parameters: {call.args}"
        elif part.function_response is not None:
            answer = part.function_response
            text = f"[{author}] `{answer.name}` tool returned result: {answer.response}"
        elif part.text is None:
            parts.append(part)
        if text is not None:
            parts.append(types.Part(text=_mark_untrusted(text) if marked else text))
    return types.Content(role="user", parts=parts) if len(parts) > 1 else None


def _mark_untrusted(text: str) -> str:
    return f"<quoted-agent-output untrusted>\n{text}\n</quoted-agent-output>"


def make_entries(
    records: Sequence[EventRecord], view: View, foreign_calls: set[str | None] | None = None
) -> list[ContentEntry]:
    """Return records as entries: compaction applied, transcriptions merged, others quoted.

    A summary covers the conversation itself, so isolation scopes do not see it.
    """
    foreign = set[str | None]() if foreign_calls is None else foreign_calls
    summaries, hidden = find_summaries(records)
    entries: list[ContentEntry] = []
    for index, record in enumerate(records):
        entry = None if index in hidden else make_entry(record, view, foreign)
        if isinstance(entry, _SpokenEntry) and _merge_transcription(entries, entry):
            entry = None
        if entry is not None:
            entries.append(entry)
        elif index not in hidden and record.responses:
            entries += make_entries_beside_answers(record, view, foreign)
        for summary in summaries.get(index, ()) if view.scope is None else ():
            content = summary.compacted_content.model_copy(deep=True)
            quoted = quote_other_agent(content, "model", view.quote)
            if quoted is not None:
                entries.append(ContentEntry(quoted, source=record))
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
            hidden.add(index)
            position -= 1
    summaries: dict[int, list[EventCompaction]] = {}
    for position, compaction in enumerate(kept):
        summaries.setdefault(last_covered.get(position, 0), []).append(compaction)
    return summaries, hidden

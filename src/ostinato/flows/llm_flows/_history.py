"""From records to contents: the model's view of a conversation. Pure; `contents.py` calls it.

A `Projection` is kept per session, agent and branch and extended by new records only. What touches
earlier contents (rewind, compaction, a late response, live transcriptions) rebuilds it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ConfigDict

from ... import types
from ...events.event_actions import EventActions, EventCompaction
from ...sessions.event_log import (
    COMPACTION,
    REWIND,
    EventLog,
    EventRecord,
    in_force,
    visible_records,
)
from ._field_names import share_names_of_fields

RESERVED_CALLS = frozenset(("adk_request_credential", "adk_request_confirmation", "adk_framework"))
# A call of the framework's own, or of the tool of that name, which is long-running and has answers
# that the model waits for.
INPUT_REQUEST = "adk_request_input"
CLIENT_ID_PREFIX = "adk-"


_NO_IDS: frozenset[str | None] = frozenset()


class _Stored(BaseModel):
    """The fields of a stored event that contents are made of."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    content: types.Content | None = None
    inputTranscription: dict[str, Any] | None = None
    outputTranscription: dict[str, Any] | None = None
    actions: EventActions | None = None


class Entry:
    """One content on its way into a request.

    Attributes:
      content: the content, this entry's own.
      calls: ids of its function calls.
      responses: ids of its function responses.
      source: the record or Event it was made from; the ids of its responses where it was merged.
    """

    __slots__ = ("calls", "content", "responses", "source")

    def __init__(
        self,
        content: types.Content,
        calls: frozenset[str | None] = _NO_IDS,
        responses: frozenset[str | None] = _NO_IDS,
        source: Any = None,
    ) -> None:
        self.content = content
        self.calls = calls
        self.responses = responses
        self.source = source


class View(NamedTuple):
    """Who looks at the conversation, and how; the key of its projection.

    Attributes:
      agent_name: the agent; messages of others are quoted to it.
      branch: its branch.
      keep_ids: whether ids made by the client stay in calls and responses.
      quote: mark quotes of other agents as untrusted data.
      scope: isolation scope; what happened in any other is not seen.
      path: node of a graph, where only its own run is seen; answers of the user are, too.
    """

    agent_name: str
    branch: str | None = None
    keep_ids: bool = False
    quote: bool = False
    scope: str | None = None
    path: str | None = None


class Projection:
    """Contents of a log as one view sees them.

    Attributes:
      view: who looks.
      start: index of the first record that counts.
      cursor: index of the first record that is not in yet.
      contents: the contents of everything before `cursor`.
    """

    __slots__ = ("_asked", "_foreign_calls", "_stale", "contents", "cursor", "start", "view")

    def __init__(self, view: View, start: int = 0) -> None:
        self.view = view
        self.start = start
        self.cursor = start
        self.contents: list[types.Content] = []
        self._asked = _NO_IDS  # ids of the calls of the last content
        self._foreign_calls: set[str | None] | None = None
        self._stale = False

    def update(self, log: EventLog) -> list[types.Content]:
        """Take in what is new in `log` and return the contents; the list is the projection's
        own.
        """
        records = log.records
        while self.cursor < len(records) and not self._stale:
            record = records[self.cursor]
            if record.kinds & (REWIND | COMPACTION) or not self._extend(record):
                self._stale = True
            self.cursor += 1
        if self._stale:
            self._rebuild(log)
        return self.contents

    def _extend(self, record: EventRecord) -> bool:
        """Append one record's content; False where earlier contents would have to change."""
        foreign = self._foreign_calls or set()
        entry = make_entry(record, self.view, foreign)
        self._foreign_calls = foreign or None  # most have none
        if entry is None:
            return True
        if isinstance(entry, _Transcribed):
            return False
        if not entry.responses <= self._asked:
            return False
        self.contents.append(entry.content)
        self._asked = entry.calls
        return True

    def _rebuild(self, log: EventLog) -> None:
        kept, foreign = visible_records(log, self.start), set[str | None]()
        entries = entries_of(kept, self.view, foreign)
        self._foreign_calls = foreign or None
        arranged = arrange(entries)
        self.contents = [e.content for e in arranged]
        self.cursor = len(log.records)
        self._asked = arranged[-1].calls if arranged else _NO_IDS
        # A late response shapes only the request it ends; the next one is laid out anew.
        self._stale = bool(entries and entries[-1].responses and arranged != entries)


def belongs_to_branch(branch: str | None, event_branch: str | None) -> bool:
    """Tell whether an event of `event_branch` is seen on `branch` (Spec 2 §4.3)."""
    if not branch or not event_branch:
        return True
    return branch == event_branch or branch.startswith(event_branch + ".")


def is_visible_part(part: types.Part) -> bool:
    """Tell whether a part counts as content (Spec 2 §4.3)."""
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
    """Tell whether a record is a request of the framework's own, or the answer to one."""
    for call, name in record.calls:
        if name in RESERVED_CALLS or (name == INPUT_REQUEST and call not in record.long_running):
            return True
    return any(name in RESERVED_CALLS for _, name in record.responses)


class _Transcribed(Entry):
    """A live transcription, merged with its neighbours before it becomes a content."""

    __slots__ = ()


def make_entry(
    record: EventRecord, view: View, foreign_calls: set[str | None]
) -> Entry | _Transcribed | None:
    """Turn one record into an entry, or None where this view does not see it (Spec 2 §4.1)."""
    if record.scope != view.scope or not belongs_to_branch(view.branch, record.branch):
        return None
    if view.path is not None and record.path != view.path:
        if record.author != "user" or not record.responses:
            return None
    if (record.calls or record.responses) and is_internal(record):
        return None
    stored = _Stored.model_validate_json(record.data)
    content = stored.content
    if content is None or not content.role or not any(map(is_visible_part, content.parts or ())):
        return _transcription(stored)
    calls = frozenset(call for call, _ in record.calls) if record.calls else _NO_IDS
    responses = frozenset(call for call, _ in record.responses) if record.responses else _NO_IDS
    other = record.author not in ("user", view.agent_name) and bool(view.agent_name)
    if other and calls:
        foreign_calls |= calls
    if other or (responses and responses <= foreign_calls):
        quoted = quote_other_agent(content, record.author, view.quote)
        return None if quoted is None else Entry(quoted, source=record)
    if not view.keep_ids and (calls or responses):
        strip_client_ids(content)
    share_names_of_fields(content)
    return Entry(content, calls, responses, record)


def _transcription(stored: _Stored) -> "_Transcribed | None":
    for role, said in (("user", stored.inputTranscription), ("model", stored.outputTranscription)):
        if said and said.get("text"):
            return _Transcribed(types.Content(role=role, parts=[types.Part(text=said["text"])]))
    return None


def strip_client_ids(content: types.Content) -> None:
    """Remove call ids that the client made up; the model never gave them (Spec 2 §6.9)."""
    for part in content.parts or ():
        holder = part.function_call or part.function_response
        if holder is not None and holder.id and holder.id.startswith(CLIENT_ID_PREFIX):
            holder.id = None


def quote_other_agent(
    content: types.Content, author: str, marked: bool = False
) -> types.Content | None:
    """Retell another agent's message as user content; None where nothing is left (Spec 2 §4.1)."""
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
            parts.append(types.Part(text=_marked(text) if marked else text))
    return types.Content(role="user", parts=parts) if len(parts) > 1 else None


def _marked(text: str) -> str:
    return f"<quoted-agent-output untrusted>\n{text}\n</quoted-agent-output>"


def entries_of(
    records: Sequence[EventRecord], view: View, foreign_calls: set[str | None] | None = None
) -> list[Entry]:
    """Turn records into entries: compaction applied, transcriptions merged, others quoted.

    A summary is one of the conversation itself, so no other scope sees it.
    """
    foreign = set[str | None]() if foreign_calls is None else foreign_calls
    summaries, hidden = summaries_of(records)
    entries: list[Entry] = []
    for index, record in enumerate(records):
        entry = None if index in hidden else make_entry(record, view, foreign)
        if isinstance(entry, _Transcribed) and _merge_transcription(entries, entry):
            entry = None
        if entry is not None:
            entries.append(entry)
        for summary in summaries.get(index, ()) if view.scope is None else ():
            content = summary.compacted_content.model_copy(deep=True)
            quoted = quote_other_agent(content, "model", view.quote)
            if quoted is not None:
                entries.append(Entry(quoted, source=record))
    return entries


def _merge_transcription(entries: list[Entry], entry: _Transcribed) -> bool:
    """Join a transcription to the one before it where both are of the same speaker."""
    last = entries[-1] if entries else None
    if not isinstance(last, _Transcribed) or last.content.role != entry.content.role:
        return False
    text = "".join(p.text or "" for e in (last, entry) for p in e.content.parts or ())
    last.content = types.Content(role=last.content.role, parts=[types.Part(text=text)])
    return True


def summaries_of(
    records: Sequence[EventRecord],
) -> tuple[dict[int, list[EventCompaction]], set[int]]:
    """Find the summaries that count and what they stand for.

    Returns:
      Summaries by the index of the last record each stands for, and the indexes of all records
      that a request leaves out: those covered, and the compaction records themselves.
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
        # Kept ranges rise at both ends, so the ones that cover a time lie side by side.
        position = bisect_right(starts, record.timestamp) - 1
        while position >= 0 and record.timestamp <= kept[position].end_timestamp:
            last_covered[position] = index
            hidden.add(index)
            position -= 1
    summaries: dict[int, list[EventCompaction]] = {}
    for position, compaction in enumerate(kept):
        summaries.setdefault(last_covered.get(position, 0), []).append(compaction)
    return summaries, hidden


def arrange(entries: list[Entry]) -> list[Entry]:
    """Put every function response right behind its call (Spec 2 §4.1 step 6)."""
    return place_responses(place_latest_response(entries))


def place_latest_response(entries: list[Entry]) -> list[Entry]:
    """Move a response that ends the list next to its call, dropping what lies between."""
    if not entries or not entries[-1].responses:
        return entries
    wanted = entries[-1].responses
    if len(entries) > 1 and entries[-2].calls & wanted:
        return entries
    for index in range(len(entries) - 2, -1, -1):
        calls = entries[index].calls
        if calls & wanted:
            between = [e for e in entries[index + 1 :] if e.responses & calls]
            return [*entries[: index + 1], merge_responses(between)]
    return entries  # an answer to nothing; place_responses leaves it out


def place_responses(entries: list[Entry]) -> list[Entry]:
    """Put the latest response of each call behind it; responses without a call are left out.

    A model may use an id again in a later response: an answer belongs to the newest call before it.
    """
    asked: dict[str | None, int] = {}
    answers: dict[int, dict[str | None, int]] = {}
    for index, entry in enumerate(entries):
        for call in entry.responses:
            if call in asked:
                answers.setdefault(asked[call], {})[call] = index
        asked.update(dict.fromkeys(entry.calls, index))
    placed: list[Entry] = []
    for index, entry in enumerate(entries):
        if entry.responses and not entry.calls:
            continue
        placed.append(entry)
        given = answers.get(index)
        if given:
            found = [entries[at] for at in sorted(set(given.values()))]
            placed.append(merge_responses([_narrowed(e, entry.calls) for e in found]))
    return placed


def _narrowed(entry: Entry, calls: frozenset[str | None]) -> Entry:
    """Return an entry without its responses to other calls, which stand behind those."""
    if entry.responses <= calls:
        return entry
    kept: list[tuple[types.Part, str | None]] = []
    ids = iter(_response_ids(entry))
    for part in entry.content.parts or ():
        if part.function_response is None:
            continue
        call = next(ids, part.function_response.id)
        if call in calls:
            kept.append((part, call))
    content = types.Content(role=entry.content.role, parts=[part for part, _ in kept])
    given = tuple(call for _, call in kept)
    return Entry(content, responses=frozenset(given), source=_source(entry, given))


def merge_responses(entries: Sequence[Entry]) -> Entry:
    """Merge responses: the same id replaces, a new id and other parts append (Spec 2 §4.4)."""
    if len(entries) == 1:
        return entries[0]
    parts: list[types.Part] = []
    at: dict[str | None, int] = {}
    for entry in entries:
        ids = iter(_response_ids(entry))
        for part in entry.content.parts or ():
            if part.function_response is None:
                parts.append(part)
                continue
            call = next(ids, part.function_response.id)
            if call in at:
                parts[at[call]] = part
            else:
                at[call] = len(parts)
                parts.append(part)
    first = entries[0]
    return Entry(
        types.Content(role=first.content.role, parts=parts),
        first.calls,
        frozenset(at),
        _source(first, tuple(at)),
    )


def _source(entry: Entry, given: tuple[str | None, ...]) -> Any:
    """Return the source of an entry made of this one: its ids, where this one is of a record."""
    return given if isinstance(entry.source, EventRecord | tuple) else entry.source


def _response_ids(entry: Entry) -> Iterable[str | None]:
    """Ids of an entry's responses in order; the content itself may have been stripped of them."""
    source: Any = entry.source
    if isinstance(source, EventRecord):
        return [call for call, _ in source.responses]
    if isinstance(source, tuple):
        return cast(tuple[str | None, ...], source)
    return [p.function_response.id for p in entry.content.parts or () if p.function_response]

"""The arrangement of a request's contents: each call is directly followed by its response."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from .... import types
from ....sessions.log.event_log import EventRecord

PENDING = {
    "status": "pending",
    "message": "This tool call has no result yet. Do not repeat it unless the user asks for it.",
}
"""Interim response to a call that waits for a person or a longer work. It is in requests only, but
for an approved call whose tool has returned nothing, which has a response that asks for leave."""

NO_IDS: frozenset[str | None] = frozenset()


class ContentEntry:
    """One content of a request, with the ids of its calls.

    Attributes:
      content: the content, owned by this entry.
      calls: ids of its function calls.
      responses: ids of its function responses.
      source: the record or Event it was built from; a merged entry has its responses' ids.
    """

    __slots__ = ("calls", "content", "responses", "source")

    def __init__(
        self,
        content: types.Content,
        calls: frozenset[str | None] = NO_IDS,
        responses: frozenset[str | None] = NO_IDS,
        source: Any = None,
    ) -> None:
        self.content = content
        self.calls = calls
        self.responses = responses
        self.source = source


class BesideEntry(ContentEntry):
    """A part of a user's message that is not shown as a whole; nothing is dropped around it."""

    __slots__ = ()


class SharedEntry(ContentEntry):
    """A user's message for several agents; each sees its words beside a result of its own only."""

    __slots__ = ()


def arrange_entries(entries: list[ContentEntry]) -> list[ContentEntry]:
    """Put every function response directly after its call (Spec 2 §4.1 step 6).

    The responses to earlier calls are moved first, because those between the call of the latest
    response and that response are dropped.
    """
    latest = place_latest_response(entries)
    if latest is not entries:
        latest = place_latest_response([*place_responses(entries[:-1]), entries[-1]])
    return place_responses(latest)


def place_latest_response(entries: list[ContentEntry]) -> list[ContentEntry]:
    """Move a response at the end of the list next to its call; drop the entries between them.

    Nothing is moved or dropped if the user said something beside the answer that led to it.
    """
    if not entries or not entries[-1].responses:
        return entries
    wanted = entries[-1].responses
    if len(entries) > 1 and entries[-2].calls & wanted:
        return entries
    for index in range(len(entries) - 2, -1, -1):
        calls = entries[index].calls
        if calls & wanted:
            if any(isinstance(entry, BesideEntry) for entry in entries[index + 1 :]):
                return entries
            between = [e for e in entries[index + 1 :] if e.responses & calls]
            return [*entries[: index + 1], merge_responses(between)]
    return entries  # no call matches; place_responses drops the response


def place_responses(entries: list[ContentEntry]) -> list[ContentEntry]:
    """Put the latest response of each call after it; drop responses without a call.

    A model may reuse an id in a later response, so a response belongs to the newest call before it.
    What a message holds beside its responses stays in its place, unless the whole message moves.
    """
    asked: dict[str | None, int] = {}
    answers: dict[int, dict[str | None, int]] = {}
    owners: dict[int, set[int]] = {}
    for index, entry in enumerate(entries):
        for call in entry.responses:
            if call in asked:
                answers.setdefault(asked[call], {})[call] = index
                owners.setdefault(index, set()).add(asked[call])
        asked.update(dict.fromkeys(entry.calls, index))
    placed: list[ContentEntry] = []
    for index, entry in enumerate(entries):
        if entry.responses and not entry.calls:
            at = owners.get(index, set())
            is_moved = any(
                index in answers[one].values() and entry.responses <= entries[one].calls
                for one in at
            )
            if not is_moved and (at or not isinstance(entry, SharedEntry)):
                placed += _keep_words(entry)
            continue
        placed.append(entry)
        given = answers.get(index)
        if given:
            found = [entries[at] for at in sorted(set(given.values()))]
            placed.append(merge_responses([keep_responses(e, entry.calls) for e in found]))
    return placed


def _keep_words(entry: ContentEntry) -> list[ContentEntry]:
    """Return what an entry holds beside its responses, as an entry; empty if that is nothing."""
    said = [part for part in entry.content.parts or () if part.function_response is None]
    if not said:
        return []
    content = types.Content(role=entry.content.role, parts=said)
    return [BesideEntry(content, source=_derive_source(entry, ()))]


def close_calls(entries: Sequence[ContentEntry], is_nested: bool = False) -> list[types.Content]:
    """Return the contents of arranged entries, with an interim response to each open call.

    Args:
      entries: entries whose responses stand after their calls.
      is_nested: whether to leave out open calls instead.
    """
    contents = [entry.content for entry in entries]
    for index in range(len(entries) - 1, -1, -1):  # backwards, because the length changes
        group = _find_open_group(entries, index) if entries[index].calls else ()
        if group and is_nested:
            contents[index : index + 1] = _hide_open_calls(*group)
        elif group:
            contents[index + 1 : index + len(group)] = [_add_interim_responses(*group)]
    return contents


def _find_open_group(entries: Sequence[ContentEntry], index: int) -> tuple[ContentEntry, ...]:
    """Return the calls at an index and the responses after them; empty if none is open."""
    entry = entries[index]
    group = tuple(entries[index : index + 2])
    given = group[-1].responses & entry.calls
    if entry.calls <= given:
        return ()
    return group if given else (entry,)


def find_open_end(entries: Sequence[ContentEntry]) -> tuple[ContentEntry, ...]:
    """Return the group of open calls that ends arranged entries, or an empty tuple."""
    for index in range(max(0, len(entries) - 2), len(entries)):
        group = _find_open_group(entries, index)
        if group and index + len(group) == len(entries):
            return group
    return ()


def _add_interim_responses(
    asking: ContentEntry, answering: ContentEntry | None = None
) -> types.Content:
    """Return the responses to an entry's calls, in the order of the calls.

    Args:
      asking: the calls.
      answering: the responses to some of them.
    """
    parts: list[types.Part] = []
    answered: dict[str | None, types.Part] = {}
    if answering is not None:
        ids = iter(_list_response_ids(answering))
        for part in answering.content.parts or ():
            response = part.function_response
            if response is None:
                parts.append(part)
            else:
                answered[next(ids, response.id)] = part
    made: list[types.Part] = []
    for call_id, call in _list_calls(asking):
        response = types.FunctionResponse(id=call.id, name=call.name, response={**PENDING})
        made.append(answered.get(call_id) or types.Part(function_response=response))
    return types.Content(role="user", parts=[*made, *parts])


def _hide_open_calls(
    asking: ContentEntry, answering: ContentEntry | None = None
) -> list[types.Content]:
    """Return an entry's content without the calls that have no response; empty if none is left."""
    answered = NO_IDS if answering is None else answering.responses
    hidden = {id(call) for call_id, call in _list_calls(asking) if call_id not in answered}
    shown = [p for p in asking.content.parts or () if id(p.function_call) not in hidden]
    return [types.Content(role=asking.content.role, parts=shown)] if shown else []


def _list_calls(entry: ContentEntry) -> list[tuple[str | None, types.FunctionCall]]:
    """Return the calls of a record's entry, with ids even if its content was stripped of them."""
    record: EventRecord = entry.source
    calls = [part.function_call for part in entry.content.parts or () if part.function_call]
    return [(call_id, call) for (call_id, _), call in zip(record.calls, calls, strict=True)]


def keep_responses(entry: ContentEntry, calls: frozenset[str | None]) -> ContentEntry:
    """Return an entry with its responses to `calls` only."""
    if entry.responses <= calls:
        return entry
    kept: list[tuple[types.Part, str | None]] = []
    ids = iter(_list_response_ids(entry))
    for part in entry.content.parts or ():
        if part.function_response is None:
            continue
        call = next(ids, part.function_response.id)
        if call in calls:
            kept.append((part, call))
    content = types.Content(role=entry.content.role, parts=[part for part, _ in kept])
    given = tuple(call for _, call in kept)
    return ContentEntry(content, responses=frozenset(given), source=_derive_source(entry, given))


def merge_responses(entries: Sequence[ContentEntry]) -> ContentEntry:
    """Merge responses: the same id replaces, a new id and other parts append (Spec 2 §4.4)."""
    if len(entries) == 1:
        return entries[0]
    parts: list[types.Part] = []
    at: dict[str | None, int] = {}
    for entry in entries:
        ids = iter(_list_response_ids(entry))
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
    return ContentEntry(
        types.Content(role=first.content.role, parts=parts),
        first.calls,
        frozenset(at),
        _derive_source(first, tuple(at)),
    )


def _derive_source(entry: ContentEntry, given: tuple[str | None, ...]) -> Any:
    """Return the source of an entry derived from this one: ids if this one is of a record."""
    return given if isinstance(entry.source, EventRecord | tuple) else entry.source


def _list_response_ids(entry: ContentEntry) -> Iterable[str | None]:
    """Return the ids of an entry's responses in order, even if its content was stripped of them."""
    source: Any = entry.source
    if isinstance(source, EventRecord):
        return [call for call, _ in source.responses]
    if isinstance(source, tuple):
        return cast(tuple[str | None, ...], source)
    return [p.function_response.id for p in entry.content.parts or () if p.function_response]

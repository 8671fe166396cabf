"""User messages that a view shows in parts: results for several agents, late results, and what
stands beside answers to requests of the runtime.
"""

from .... import types
from ....sessions.log.event_log import TASK_ANSWER, EventRecord
from ....sessions.log.late_results import LATE, LateResult, read_late_results
from ....sessions.log.word_readers import WordReader, read_word_readers
from .arrangement import BesideEntry, ContentEntry, SharedEntry
from .visibility import (
    StoredContent,
    View,
    belongs_to_branch,
    find_reserved_answers,
    is_in_view,
    is_visible_part,
    quote_other_agent,
    strip_client_ids,
)


def make_message_entries(
    record: EventRecord, view: View, foreign_calls: set[str | None]
) -> list[ContentEntry]:
    """Return the entries of a user's message that a view shows in parts; empty for others.

    google-adk hides a whole message that answers a request of the runtime; Ostinato hides these
    answers only.

    Args:
      record: the message.
      view: the view.
      foreign_calls: calls of other agents that the view has shown.
    """
    if record.author != "user" or record.kinds & TASK_ANSWER:
        return []
    if not is_in_view(record, view) and not _is_for_several(record, view):
        return []
    if not has_parts_to_split(record, view, foreign_calls):
        return []
    content = record.read_as(StoredContent).content
    if content is None or not content.role:
        return []
    parts = [part for part in content.parts or () if is_visible_part(part)]
    quotes = _quote_results(record, parts, view, foreign_calls)
    results = _find_own_results(record, parts, foreign_calls)
    said = [part for part in parts if part.function_response is None]
    found: list[ContentEntry] = []
    shows_words = is_addressed(record, view) or bool(quotes)
    if results:
        ids = tuple(p.function_response.id for p in results if p.function_response)
        given = types.Content(role=content.role, parts=results if shows_words else results + said)
        if not view.keep_ids:
            strip_client_ids(given)
        kind = BesideEntry if shows_words else SharedEntry
        found.append(kind(given, responses=frozenset(ids), source=ids))
    found += quotes
    if said and shows_words:
        found.append(BesideEntry(types.Content(role=content.role, parts=said), source=record))
    return found


def has_parts_to_split(record: EventRecord, view: View, foreign_calls: set[str | None]) -> bool:
    """Return whether a view does not show a user's message with responses as one content."""
    if record.scope != view.scope or find_reserved_answers(record) or record.has_metadata(LATE):
        return True
    known = [call in foreign_calls for call, _ in record.responses]
    return any(known) and not all(known)


def is_addressed(record: EventRecord, view: View) -> bool:
    """Return whether a view shows the words of a user's message, whatever the message answers."""
    if record.scope == view.scope and view.path in (None, record.path):
        return True
    return any(_is_of_agent(one, view) for one in read_word_readers(record))


def _is_for_several(record: EventRecord, view: View) -> bool:
    """Return whether a message may be for agents of several scopes, and a called agent's view may
    show some of it: answers, if the message is in no scope, or its words."""
    if view.scope is None or not record.responses:
        return False
    if record.scope is None and belongs_to_branch(view.branch, record.branch):
        return True
    return is_addressed(record, view)


def _quote_results(
    record: EventRecord, parts: list[types.Part], view: View, foreign_calls: set[str | None]
) -> list[ContentEntry]:
    """Return late results that the viewing agent reads, and results for others that it sees."""
    late = read_late_results(record)
    found: list[ContentEntry] = []
    for part in parts:
        call = None if part.function_response is None else part.function_response.id
        if call is None or (call not in late and call not in foreign_calls):
            continue
        if call in late and not _is_of_agent(late[call], view):
            continue
        author = late[call].agent if call in late else record.author
        given = types.Content(role="user", parts=[part])
        quoted = quote_other_agent(given, author, view.quote)
        if quoted is not None:
            found.append(BesideEntry(quoted, source=record))
    return found


def _is_of_agent(reader: LateResult | WordReader, view: View) -> bool:
    """Return whether a view is that of a reader of results or words."""
    if reader.scope != view.scope or not belongs_to_branch(view.branch, reader.branch):
        return False
    return view.path in (None, reader.path)


def _find_own_results(
    record: EventRecord, parts: list[types.Part], foreign_calls: set[str | None]
) -> list[types.Part]:
    """Return the results that may be for calls of the viewing agent."""
    others = {*find_reserved_answers(record), *read_late_results(record), *foreign_calls}
    return [p for p in parts if p.function_response and p.function_response.id not in others]

"""The words by which sessions are found, encoded so that every database's full-text index keeps
them unchanged.

Python takes the words, as it does for memories, and the databases only compare them: their own
tokenizers differ, drop short and frequent words, and know no text without spaces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..._words import asked_words, words

PART = 64
"""Events whose words make one document of the index."""

STEP_SESSIONS = 16
"""Sessions that one step of indexing takes at most."""

STEP_PARTS = 2
"""Documents with new events that one step of indexing makes of one session at most."""

STEP_EVENTS = 2 * PART
"""Events after which a step of indexing takes no further session."""

COUNTED = 1000
"""Sessions with events that are not indexed are counted up to here."""

_LONGEST_TEXT = 4096  # characters of an event
_LONGEST_TOKEN = 84  # MySQL indexes no longer ones
_SHORTEST_PREFIX = 3  # characters; shorter beginnings match too many words to be read at once
_MOST_WORDS = 32  # of a query
_ERROR_FIELDS = ("errorCode", "errorMessage", "error_code", "error_message")

# SQLite's index beside a table `ostinato_search(doc, ..., words)`. `prefix` counts the two letters
# that `_encode_word` puts before a word.
FTS5_INDEX = (
    "CREATE VIRTUAL TABLE ostinato_words USING fts5(words, content='ostinato_search', "
    "content_rowid='doc', detail=none, columnsize=0, prefix='5', "
    "tokenize=\"ascii tokenchars '_'\")",
    "CREATE TRIGGER ostinato_search_added AFTER INSERT ON ostinato_search BEGIN INSERT INTO "
    "ostinato_words(rowid, words) VALUES (new.doc, new.words); END",
    "CREATE TRIGGER ostinato_search_gone AFTER DELETE ON ostinato_search BEGIN INSERT INTO "
    "ostinato_words(ostinato_words, rowid, words) VALUES ('delete', old.doc, old.words); END",
    "CREATE TRIGGER ostinato_search_changed AFTER UPDATE ON ostinato_search BEGIN "
    "INSERT INTO ostinato_words(ostinato_words, rowid, words) "
    "VALUES ('delete', old.doc, old.words); INSERT INTO ostinato_words(rowid, words) "
    "VALUES (new.doc, new.words); END",
)


class Stretch(NamedTuple):
    """Which documents of a session are to be written.

    Attributes:
      parts: their numbers; the first one is among them, as it holds the title.
      ends: whether they include the newest event.
    """

    parts: list[int]
    ends: bool


def stretch_of(revision: int, newest_part: int | None) -> Stretch:
    """Return which documents to write next.

    Args:
      revision: number of the session's newest event.
      newest_part: number of the last document that is written, or None.
    """
    last = max(revision - 1, 0) // PART
    first = newest_part or 0
    until = min(last, first + STEP_PARTS - 1)
    return Stretch(sorted({0, *range(first, until + 1)}), until == last)


def document_text(app: str, user: str, titles: Iterable[str], events: Iterable[str | None]) -> str:
    """Return the text to index of a stretch of a session: each word once.

    Args:
      app, user: whose session it is.
      titles: id and title, in the session's first document.
      events: JSON texts of the events.
    """
    found = {_app_token(app), _user_token(app, user)}
    for text in (*titles, *(_event_text(data) for data in events)):
        found.update(map(_encode_word, words(text)))
    return " ".join(sorted(found))


def query_tokens(app: str, user: str | None, text: str) -> list[str]:
    """Return the tokens to look for, none if the text has no word.

    A `*` at the end of one means that it may be the beginning of a token.
    """
    asked = asked_words(text)[:_MOST_WORDS]
    if not asked:
        return []
    tokens = [_encode_word(word) for word in asked]
    if len(asked[-1]) >= _SHORTEST_PREFIX and text.rstrip()[-1:].isalnum():
        tokens[-1] += "*"
    owner = _app_token(app) if user is None else _user_token(app, user)
    return [owner, *tokens]


def contains_words(text: str, tokens: list[str]) -> bool:
    """Return whether a document holds all tokens of a query."""
    found = set(text.split())
    return all(
        one in found if one[-1] != "*" else any(each.startswith(one[:-1]) for each in found)
        for one in tokens
    )


def text_condition(tokens: list[str]) -> tuple[str, dict[str, str]]:
    """Return a condition for SQLite on a given document `x`, and its parameters.

    The full-text index would read all documents with a beginning of a word to look into one.
    """
    values = {
        f"word{n}": f" {one.rstrip('*')}" + " " * (one[-1] != "*") for n, one in enumerate(tokens)
    }
    return " AND ".join(f"instr(' ' || x.words || ' ', :{name})" for name in values), values


def fts5_query(tokens: list[str]) -> str:
    """Return a query for SQLite."""
    return " AND ".join(f'"{one[:-1]}"*' if one[-1] == "*" else f'"{one}"' for one in tokens)


def postgres_query(tokens: list[str]) -> str:
    """Return a query for PostgreSQL."""
    return " & ".join(f"'{one[:-1]}':*" if one[-1] == "*" else f"'{one}'" for one in tokens)


def boolean_query(tokens: list[str]) -> str:
    """Return a query for MySQL."""
    return " ".join(f"+{one}" for one in tokens)


def _encode_word(word: str) -> str:
    """Return a word in letters, digits and underscores that no database changes or drops."""
    encoded = f"zz{word}" if word.isascii() else f"zx{word.encode('utf-8', 'surrogatepass').hex()}"
    return encoded[:_LONGEST_TOKEN]


def _app_token(app: str) -> str:
    return f"za{_short_digest(app)}"


def _user_token(app: str, user: str) -> str:
    return f"zu{_short_digest(f'{app}/{user}')}"  # no name holds a slash


def _short_digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _event_text(data: str | None) -> str:
    """Return the text of an event that it is found by; '' for one that cannot be read."""
    try:
        fields: Any = json.loads(data or "{}")
        content: dict[str, Any] = fields.get("content") or {}
        texts = [text for part in content.get("parts") or () for text in _part_texts(part)]
        texts += [fields.get(name) for name in _ERROR_FIELDS]
    except (ValueError, TypeError, AttributeError):  # loading the session raises the error
        return ""
    return " ".join(text for text in texts if isinstance(text, str))[:_LONGEST_TEXT]


def _part_texts(part: dict[str, Any]) -> list[Any]:
    if part.get("thought"):
        return []
    calls = (part.get(name) for name in ("functionCall", "function_call"))
    return [part.get("text"), *(call.get("name") for call in calls if call)]

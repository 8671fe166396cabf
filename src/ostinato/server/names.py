"""Checks of names and ids that clients send: length and characters.

Control characters, direction marks and invisible characters would make different ids look alike
and break logs, so names must not contain them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from .. import types
from ..errors import InputValidationError
from ..events.event import Event
from ..events.event_actions import EventActions
from ..sessions.base_session_service import HIDDEN_PREFIX

LONGEST_ID = 256  # characters of an id, as in every store
LONGEST_NAME = 1024  # characters of a file's name
LONGEST_PACKED = 4096  # characters of a packed id, which contains other names
LONGEST_QUERY = 2000  # characters of a value in the query
_SHOWN = 40
_END_OF_TIME = 253_402_300_800  # the year 10000, which no date reaches
# Characters that Python calls printable but that show nothing: fillers, joiners, variant selectors.
# The last one replaces bytes of a path that are not UTF-8.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef\ufffd]"
)


def check_id(kind: str, value: str, longest: int = LONGEST_ID) -> str:
    """Return `value` if it is valid as an id from a client.

    Args:
      kind: what it identifies, for the error.
      value: the id.
      longest: characters at most.

    Raises:
      InputValidationError: it is too long, or contains characters that are not printable.
    """
    check_text(kind, value, longest)
    if _UNSEEN.search(value) or unicodedata.category(value[:1] or " ").startswith("M"):
        raise InputValidationError(
            f"The {kind} {value[:_SHOWN]!a} may not contain invisible characters or bytes that are "
            "not UTF-8, or begin with a combining mark."
        )
    return value


def check_text(kind: str, value: str, longest: int) -> str:
    """Return `value` if it is valid as one line of text from a client, such as a search text.

    Raises:
      InputValidationError: it is too long, or contains characters that are not printable.
    """
    if len(value) > longest:
        raise InputValidationError(
            f"The {kind} may have at most {longest} characters; this one has {len(value)}."
        )
    if not value.isprintable():
        raise InputValidationError(
            f"The {kind} {value[:_SHOWN]!a} may not contain control characters or other characters "
            "that are not printable."
        )
    return value


def check_owner(kind: str, value: str) -> str:
    """Return `value` if it is a valid id that is not reserved for the runtime.

    Raises:
      InputValidationError: the id is not valid, or reserved for the runtime.
    """
    if check_id(kind, value).strip().startswith(HIDDEN_PREFIX):
        raise InputValidationError(
            f"A {kind} that begins with {HIDDEN_PREFIX} is reserved for the runtime; use another."
        )
    return value


def check_new_session(session_id: str | None) -> str | None:
    """Return the id that a client wants for a new session, or None.

    Raises:
      InputValidationError: the id is not valid, or reserved for the runtime.
    """
    if not session_id:
        return None
    check_owner("session id", session_id)
    if not session_id.strip():
        raise InputValidationError("The session id is blank; leave it out to get a new id.")
    return session_id


def check_content(content: types.Content | None) -> None:
    """Check the ids and names in a message.

    Raises:
      InputValidationError: an id or a name is not valid.
    """
    for part in (content.parts if content is not None else None) or ():
        for one in (part.function_call, part.function_response):
            if one is not None:
                check_id("id of a function call", one.id or "", LONGEST_NAME)
                check_id("name of a function", one.name or "", LONGEST_NAME)


def check_event(event: Event) -> Event:
    """Return an event from a client if its names, ids and times are valid.

    Raises:
      InputValidationError: a name, an id or a time is not valid.
    """
    check_id("event id", event.id)
    check_id("invocation id", event.invocation_id)
    check_owner("author", event.author)
    for kind, value in (
        ("branch", event.branch),
        ("isolation scope", event.isolation_scope),
        ("path of a node", event.node_info.path),
        ("error code", event.error_code),
        ("role", event.content and event.content.role),
        *(("id of a function call", one) for one in event.long_running_tool_ids or ()),
    ):
        check_id(kind, value or "", LONGEST_NAME)
    check_time(event.timestamp)
    check_content(event.content)
    _check_actions(event.actions)
    return event


def _check_actions(actions: EventActions) -> None:
    check_id("name of an agent", actions.transfer_to_agent or "")
    check_id("invocation id", actions.rewind_before_invocation_id or "")
    for name, version in actions.artifact_delta.items():
        check_file_name(name)
        if version < 0:
            raise InputValidationError(f"The version of a file has to be 0 or more, not {version}.")
    if actions.compaction is not None:
        check_time(actions.compaction.start_timestamp)
        check_time(actions.compaction.end_timestamp)


def check_file_name(name: str) -> None:
    """Check the name of an artifact.

    Raises:
      InputValidationError: it is empty, too long, not printable, or leaves its folder.
    """
    path = check_id("name of a file", name, LONGEST_NAME).removeprefix("user:").replace("\\", "/")
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise InputValidationError(
            f"The name of a file {name[:_SHOWN]!r} is empty or leaves its folder; give a relative "
            "name without '..'."
        )


def check_time(seconds: float) -> None:
    """Check a time in seconds since 1970.

    Raises:
      InputValidationError: it is before 1970, after the year 9999, or not a number.
    """
    if not 0 <= seconds < _END_OF_TIME:  # false for NaN, too
        raise InputValidationError(f"The timestamp {seconds} is not a time in seconds since 1970.")


def _id_validator(kind: str, longest: int = LONGEST_ID) -> Any:
    return AfterValidator(lambda value: check_id(kind, value, longest))


Id = Annotated[str, Field(max_length=LONGEST_ID), _id_validator("id")]
FileName = Annotated[
    str, Field(max_length=LONGEST_NAME), _id_validator("name of a file", LONGEST_NAME)
]
PackedId = Annotated[str, Field(max_length=LONGEST_PACKED), _id_validator("id", LONGEST_PACKED)]
CallId = Annotated[str, Field(max_length=LONGEST_NAME), _id_validator("id of a call", LONGEST_NAME)]

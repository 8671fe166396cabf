"""Where an artifact belongs: app, user, session (or none, for `user:` names) and name, all checked.

Every artifact service builds an `Address` first, so that the rules for names are the same in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from unicodedata import category

from ostinato.errors import InputValidationError

Scope: TypeAlias = tuple[str, str, str | None]

USER_PREFIX = "user:"
_MAX_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Address:
    """One artifact. `session_id` is None if all sessions of the user share it."""

    app_name: str
    user_id: str
    session_id: str | None
    filename: str

    @property
    def scope(self) -> Scope:
        """What the artifact is listed under."""
        return self.app_name, self.user_id, self.session_id

    @property
    def path(self) -> str:
        """The part of its URIs that names it, before `/versions/...`."""
        session = "" if self.session_id is None else f"sessions/{self.session_id}/"
        return f"apps/{self.app_name}/users/{self.user_id}/{session}artifacts/{self.filename}"


def locate(app_name: str, user_id: str, session_id: str | None, filename: str) -> Address:
    """The address of an artifact; a name that starts with `user:` belongs to no session.

    Raises:
        InputValidationError: an id or the name is empty, too long, or would leave its place, or a
            name without `user:` comes without a session.
    """
    _check_name(filename)
    user_scope = filename.startswith(USER_PREFIX)
    if not user_scope and session_id is None:
        raise InputValidationError(
            f"Artifact {filename!r} belongs to a session, but no session_id was given. Give one, "
            f"or name it {USER_PREFIX + filename!r} to share it among the user's sessions."
        )
    owner = scope_of(app_name, user_id, session_id)
    return Address(owner[0], owner[1], None if user_scope else owner[2], filename)


def scope_of(app_name: str, user_id: str, session_id: str | None) -> Scope:
    """The three ids, checked.

    Raises:
        InputValidationError: one is empty, longer than 200 characters, not plain text, `.` or `..`.
    """
    _check_id(app_name, "app_name")
    _check_id(user_id, "user_id")
    if session_id is not None:
        _check_id(session_id, "session_id")
    return app_name, user_id, session_id


def _check_id(text: str, what: str) -> None:
    check_text(text, what)
    if text in (".", ".."):
        raise InputValidationError(f"The {what} is {text!r}, which names a folder; give another.")
    if any(category(char) == "Cc" for char in text):
        raise InputValidationError(f"The {what} {text!r} holds a control character; remove it.")


def _check_name(filename: str) -> None:
    check_text(filename, "artifact name")
    name = filename.removeprefix(USER_PREFIX).replace("\\", "/")
    if not name:
        raise InputValidationError(f"Artifact name {filename!r} has nothing after {USER_PREFIX!r}.")
    if name.startswith("/") or (name[1:3] == ":/" and name[0].isalpha()):
        raise InputValidationError(
            f"Artifact name {filename!r} is an absolute path; give a relative name such as "
            "'reports/may.pdf'."
        )
    if ".." in name.split("/"):
        raise InputValidationError(
            f"Artifact name {filename!r} leaves its place with '..'; give a name without it."
        )


def check_text(text: str, what: str) -> None:
    """Check that an id or a name can be stored.

    Raises:
        InputValidationError: it is empty, longer than 200 characters, or not plain text.
    """
    if not text:
        raise InputValidationError(f"The {what} is empty; give one.")
    if len(text) > _MAX_LENGTH:
        raise InputValidationError(
            f"The {what} {text[:40]!r}... has {len(text)} characters; at most {_MAX_LENGTH} are "
            "allowed."
        )
    # A lone surrogate has no UTF-8 form, so it can be neither a file's name nor stored JSON.
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise InputValidationError(
            f"The {what} {text!r} holds a NUL or half a character; remove it."
        )

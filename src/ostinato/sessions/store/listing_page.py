"""Pages of a listing of sessions and the tokens between them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import InputValidationError


class Page(NamedTuple):
    """Which part of a listing is wanted, newest first.

    Attributes:
      size: at most so many sessions; None for all.
      updated: time of the last session of the page before, seconds since 1970; None at the start.
      number: its number in the store, which orders sessions of the same time.
      names: its app, user and id, in a store that orders sessions of the same time by these.
    """

    size: int | None = None
    updated: float | None = None
    number: int = 0
    names: tuple[str, str, str] | None = None


def page_of(size: int | None, token: str | None, *, by_names: bool = False) -> Page:
    """Return the page that a caller asks for.

    Args:
      size: at most so many sessions; None for all.
      token: where the page before ended; None for the first page.
      by_names: whether the store orders sessions of the same time by their names.

    Raises:
      InputValidationError: the size is not positive, or the token is not one of this service.
    """
    if size is not None and size < 1:
        raise InputValidationError(f"page_size must be 1 or more, not {size}.")
    if token is None:
        return Page(size)
    try:
        updated, last = json.loads(base64.urlsafe_b64decode(token))
        if by_names:
            app, user, session = (str.__str__(name) for name in last)
            return Page(size, float(updated), names=(app, user, session))
        return Page(size, float(updated), int(last))
    except (ValueError, TypeError) as error:
        raise InputValidationError(
            f"page_token {token[:40]!r} is not one that list_sessions gave; leave it out to begin "
            "with the newest session."
        ) from error


def token_of(updated: float, last: int | Sequence[str]) -> str:
    """Return the token of the page that begins behind a session.

    Args:
      updated: time of its last change.
      last: its number in the store, or its app, user and id.
    """
    return base64.urlsafe_b64encode(json.dumps([updated, last]).encode()).decode()

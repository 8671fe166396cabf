"""Pages of a listing of sessions: where one ended is where the next begins."""

from __future__ import annotations

import base64
import json
from typing import NamedTuple

from ..errors import InputValidationError


class Page(NamedTuple):
    """Which part of a listing is wanted, newest first.

    Attributes:
      size: at most so many sessions; None for all.
      updated: time of the last session of the page before, seconds since 1970; None at the start.
      number: its number in the store, which orders sessions of the same time.
    """

    size: int | None = None
    updated: float | None = None
    number: int = 0


def page_of(size: int | None, token: str | None) -> Page:
    """Return the page that a caller asks for.

    Raises:
      InputValidationError: the size is not positive, or the token is not one of ours.
    """
    if size is not None and size < 1:
        raise InputValidationError(f"page_size must be 1 or more, not {size}.")
    if token is None:
        return Page(size)
    try:
        updated, number = json.loads(base64.urlsafe_b64decode(token))
        return Page(size, float(updated), int(number))
    except (ValueError, TypeError) as error:
        raise InputValidationError(
            f"page_token {token[:40]!r} is not one that list_sessions gave; leave it out to begin "
            "with the newest session."
        ) from error


def token_of(updated: float, number: int) -> str:
    """Return the token of the page that begins behind a session."""
    return base64.urlsafe_b64encode(json.dumps([updated, number]).encode()).decode()

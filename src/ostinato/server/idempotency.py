"""Idempotency keys of HTTP requests.

The store refuses a key that comes with another request. One body may be read as different messages,
for a text may answer a question that is open the first time only. The server therefore gives the
run a digest of the body, and the store compares these digests.
"""

from __future__ import annotations

import hashlib
import json
import uuid

from pydantic import BaseModel
from starlette.datastructures import Headers

from ..execution.store_access import durable_store
from ..sessions.base_session_service import BaseSessionService
from ..sessions.store.durable_store import Place
from ..sessions.store.keyed_requests import keyed_invocation_id
from .names import LONGEST_ID
from .place import load_newest_event
from .problems import invalid_input

HEADER = "idempotency-key"

_NAME = "Idempotency-Key"
_SESSIONS = uuid.UUID("b3f1c1de-6c1d-4c0b-9d70-6d1a3f0a5f52")
_WRITES = ("POST", "PATCH", "PUT")


def read_key(headers: Headers) -> str | None:
    """Return the idempotency key of a request, or None.

    Raises:
      Problem: there are several keys, or the key is empty, too long or not printable ASCII.
    """
    values = headers.getlist(HEADER)
    if not values:
        return None
    key = values[0]
    if len(values) > 1 or not (key.isascii() and key.isprintable() and 0 < len(key) <= LONGEST_ID):
        raise invalid_input(
            f"{_NAME} is one header of 1 to {LONGEST_ID} printable ASCII characters."
        )
    return key


def refuse_key(method: str, headers: Headers) -> None:
    """Refuse a key on a writing route that does not support keys.

    Raises:
      Problem: the request writes and has a key.
    """
    if method in _WRITES and HEADER in headers:
        raise invalid_input(
            f"This route does not support {_NAME}, so a repeated request would count twice. Leave "
            "it out. The routes that start runs support it: /run, /run_sse, /v1/chat/completions, "
            "/v1/responses and /apps/{app}/agui. To create a session only once, give it an id."
        )


def keyed_session_id(app: str, user: str, key: str) -> str:
    """Return the session id that belongs to a key, always the same."""
    return f"key-{uuid.uuid5(_SESSIONS, json.dumps([app, user, key]))}"


async def is_accepted(service: BaseSessionService, place: Place, key: str) -> bool:
    """Return whether a session has the run of a key, or its message waits there.

    Raises:
      SessionNotFoundError: the session does not exist.
    """
    wanted, durable = keyed_invocation_id(place, key), durable_store(service)
    if durable is not None:  # first: a message that waits becomes an event
        if any(one.invocation_id == wanted for one in await durable.messages(place)):
            return True
    return await load_newest_event(service, place, wanted) is not None


def digest_request(body: BaseModel) -> str:
    """Return the digest of a request's body; the run's events and its waiting message have it."""
    fields = body.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"streaming"})
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

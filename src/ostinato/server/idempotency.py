"""Idempotency keys, and the requests that they were first used for.

The runtime repeats the events of a keyed run without comparing requests. The server therefore
stores a digest of the request in the metadata of the run's events, where every process finds it,
and refuses a key that comes with another request.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from starlette.datastructures import Headers

from ..execution.request_checks import REQUEST_DIGEST
from ..execution.run_table import keyed_invocation_id
from ..sessions.base_session_service import BaseSessionService
from ..sessions.store.durable_store import Place
from .names import LONGEST_ID
from .place import load_newest_event
from .problems import Problem, invalid_input

_REMEMBERED = 10_000  # requests of this process
HEADER = "idempotency-key"
KEY_REUSED = "IdempotencyKeyReused"


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


async def has_begun(service: BaseSessionService, place: Place, key: str) -> bool:
    """Return whether a session has the run of a key.

    Raises:
      SessionNotFoundError: the session does not exist.
    """
    return await load_newest_event(service, place, keyed_invocation_id(place, key)) is not None


class KeyedRequests:
    """The digests of keyed requests, from this process's cache and from the log.

    Attributes:
      preparing: held while the session of a key is created.
    """

    def __init__(self) -> None:
        self.preparing = asyncio.Lock()
        self._known: OrderedDict[str, str] = OrderedDict()

    async def claim_key(
        self, service: BaseSessionService, place: Place, key: str, body: BaseModel
    ) -> dict[str, Any]:
        """Claim a key for a request; return the metadata for the events of its run.

        Raises:
          Problem: the key was used for another request.
        """
        invocation, digest = keyed_invocation_id(place, key), _digest_request(body)
        known = self._known.get(invocation) or await _stored_digest(service, place, invocation)
        if known is not None and known != digest:
            raise Problem(
                422,
                KEY_REUSED,
                f"This {_NAME} was already used for another request; use a new one.",
            )
        self._known[invocation] = digest
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return {REQUEST_DIGEST: digest}


async def _stored_digest(service: BaseSessionService, place: Place, invocation: str) -> str | None:
    event = await load_newest_event(service, place, invocation)
    metadata: Mapping[str, Any] = (event.custom_metadata if event is not None else None) or {}
    found = metadata.get(REQUEST_DIGEST)
    return found if isinstance(found, str) else None


def _digest_request(body: BaseModel) -> str:
    fields = body.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"streaming"})
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

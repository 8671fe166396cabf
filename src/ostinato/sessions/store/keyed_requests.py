"""Requests under an idempotency key: the id of their invocation, and what tells two apart.

A key belongs to the first request that is stored under it, in the inbox or as the invocation's
first event. The stores compare within the transaction that stores the next one.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import IdempotencyKeyReusedError, StaleSessionError
from ..log.event_log import EventLog, EventRecord

REQUEST_DIGEST = "ostinato:request"
"""Key under which the metadata of a server's keyed run has the digest of the request's body."""

CONTENT_DIGEST = "ostinato:content"
"""Key under which the metadata of a keyed message's event has the digest of what was sent."""

_KEYED_LENGTH, _VERSION = 38, 16  # of `e-` and a UUID; only a key's is of version 5
_KEYS = uuid.UUID("8d0f2d2c-5b0c-4a5e-9a51-2f0e6f3f7a11")


def is_keyed(invocation_id: str) -> bool:
    """Return whether `keyed_invocation_id` made an invocation id."""
    return len(invocation_id) == _KEYED_LENGTH and invocation_id[_VERSION] == "5"


def keyed_invocation_id(place: tuple[str, str, str], idempotency_key: str) -> str:
    """Return the invocation id of a request's key, the same for each request of a session."""
    name = "\0".join((*place, idempotency_key))
    return f"e-{uuid.uuid5(_KEYS, name)}"


class RequestDigests(NamedTuple):
    """What tells a request from another one under the same key.

    Attributes:
      body: digest of the body that a server received; None for a caller of the Runner.
      content: digest of message and state delta; None if they cannot be compared.
    """

    body: str | None
    content: str | None


def digest_content(
    invocation_id: str, message: Mapping[str, Any] | None, state_delta: Mapping[str, Any] | None
) -> str | None:
    """Return the digest of what a request sends, or None if it has no JSON.

    Args:
      invocation_id: the invocation of its key, so that equal messages have different digests.
      message: the content as JSON.
      state_delta: the changes of state.
    """
    sent = [invocation_id, message, state_delta or None]
    try:
        text = json.dumps(sent, sort_keys=True, default=lambda value: type(value).__name__)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()


def digests_of_payload(invocation_id: str, payload: str) -> RequestDigests:
    """Return the digests of a message in an inbox."""
    fields: dict[str, Any] = json.loads(payload)
    content = digest_content(invocation_id, fields.get("message"), fields.get("stateDelta"))
    return digests_of_metadata(fields.get("customMetadata"))._replace(content=content)


def digests_of_metadata(metadata: Mapping[str, Any] | None) -> RequestDigests:
    """Return the digests in the metadata of an event."""
    found = [(metadata or {}).get(key) for key in (REQUEST_DIGEST, CONTENT_DIGEST)]
    return RequestDigests(*(each if isinstance(each, str) else None for each in found))


def digests_of_record(record: EventRecord) -> RequestDigests:
    """Return the digests of the request that began an invocation, from its first event."""
    return digests_of_metadata(record.event().custom_metadata)


def check_begun(log: EventLog, invocation_id: str, given: RequestDigests | None) -> bool:
    """Return whether the invocation of a key has begun.

    Raises:
      IdempotencyKeyReusedError: another request has begun it.
    """
    start = log.start_of(invocation_id)
    if start is None:
        return False
    check_repeated(digests_of_record(log.records[start]), given)
    return True


def check_repeated(stored: RequestDigests, given: RequestDigests | None) -> None:
    """Refuse another request under a key.

    Bodies are compared if both requests came through a server, for the same body may be read as
    different messages; else what they send.

    Args:
      stored: digests of the first request under the key.
      given: digests of the next one.

    Raises:
      IdempotencyKeyReusedError: they differ.
    """
    if given is None:
        return
    pairs = zip(stored, given, strict=True)
    known = next((pair for pair in pairs if None not in pair), None)
    if known is not None and known[0] != known[1]:
        raise IdempotencyKeyReusedError(
            "This idempotency key was already used for another request; use a new one."
        )


def check_waiting(invocation_id: str, payload: str, given: RequestDigests) -> None:
    """Refuse to begin an invocation with another message than the one that waits under its key.

    Args:
      invocation_id: the invocation.
      payload: the message that waits.
      given: digests of the request that would take its place.

    Raises:
      IdempotencyKeyReusedError: it is another request.
      StaleSessionError: it is the same request, read as another message: the stored one runs.
    """
    stored = digests_of_payload(invocation_id, payload)
    check_repeated(stored, given)
    if stored.content != given.content:
        raise StaleSessionError("The message that waits under this idempotency key comes first.")

"""Credential requests of this process, with their secrets, until their answers arrive.

Clients and stores get no secrets, so an answer lacks them too. Contexts and the flow remember a
request here; the credential processor recalls it. After a restart the tool's own configuration
completes the answer (`AuthHandler.take_auth_response`).
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ostinato.auth._credential_context import SessionLike
    from ostinato.auth.auth_tool import AuthConfig

CAPACITY = 1_000

_Place: TypeAlias = tuple[str, str, str, str]

_requests: OrderedDict[_Place, AuthConfig] = OrderedDict()
_lock = Lock()


def remember_request(session: SessionLike, function_call_id: str, request: AuthConfig) -> None:
    """Keep a request until the process ends or `CAPACITY` newer ones have come.

    Args:
        session: the session it was made in.
        function_call_id: the call that waits for the credential.
        request: the request with its secrets.
    """
    place = _place(session, function_call_id)
    with _lock:
        _requests[place] = request
        _requests.move_to_end(place)
        if len(_requests) > CAPACITY:
            _requests.popitem(last=False)


def recall_request(session: SessionLike, function_call_id: str) -> AuthConfig | None:
    """Return the request that this process made for a call in a session, or None."""
    with _lock:
        return _requests.get(_place(session, function_call_id))


def forget_requests() -> None:
    """Forget all requests, as a restart does."""
    with _lock:
        _requests.clear()


def _place(session: SessionLike, function_call_id: str) -> _Place:
    return session.app_name, session.user_id, session.id, function_call_id

"""Credential requests of this process, with their secrets, until their answers arrive, and the
credentials given to calls that still wait for another answer.

Clients and stores get no secrets, so an answer lacks them too. Contexts and the flow remember a
request here; the credential processor recalls it. After a restart the tool's own configuration
completes the answer (`AuthHandler.take_auth_response`), and a credential is asked for again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ostinato.auth._credential_context import SessionLike
    from ostinato.auth.auth_credential import AuthCredential
    from ostinato.auth.auth_tool import AuthConfig

CAPACITY = 1_000

_Place: TypeAlias = tuple[str, str, str, str]

T = TypeVar("T")


class _CallMemory(Generic[T]):
    """What this process knows about calls, until it ends or `CAPACITY` newer ones have come."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Place, T] = OrderedDict()
        self._lock = Lock()

    def put(self, place: _Place, value: T) -> None:
        with self._lock:
            self._known[place] = value
            self._known.move_to_end(place)
            if len(self._known) > CAPACITY:
                self._known.popitem(last=False)

    def get(self, place: _Place) -> T | None:
        with self._lock:
            return self._known.get(place)

    def drop(self, place: _Place) -> None:
        with self._lock:
            self._known.pop(place, None)

    def clear(self) -> None:
        with self._lock:
            self._known.clear()


_requests = _CallMemory["AuthConfig"]()
_credentials = _CallMemory[Mapping[str, "AuthCredential"]]()


def remember_request(session: SessionLike, function_call_id: str, request: AuthConfig) -> None:
    """Keep a request until the process ends or `CAPACITY` newer ones have come.

    Args:
        session: the session it was made in.
        function_call_id: the call that waits for the credential.
        request: the request with its secrets.
    """
    _requests.put(_place(session, function_call_id), request)


def recall_request(session: SessionLike, function_call_id: str) -> AuthConfig | None:
    """Return the request that this process made for a call in a session, or None."""
    return _requests.get(_place(session, function_call_id))


def remember_credentials(
    session: SessionLike, function_call_id: str, credentials: Mapping[str, AuthCredential]
) -> None:
    """Keep the credentials of a call that waits for another answer; none forgets the call's.

    Args:
        session: the session of the call.
        function_call_id: the call.
        credentials: all that it was given, by credential key.
    """
    place = _place(session, function_call_id)
    if credentials:
        _credentials.put(place, credentials)
    else:
        _credentials.drop(place)


def recall_credentials(session: SessionLike, function_call_id: str) -> Mapping[str, AuthCredential]:
    """Return the credentials that this process keeps for a call, by credential key."""
    return _credentials.get(_place(session, function_call_id)) or {}


def forget_requests() -> None:
    """Forget all requests and credentials, as a restart does."""
    _requests.clear()
    _credentials.clear()


def _place(session: SessionLike, function_call_id: str) -> _Place:
    return session.app_name, session.user_id, session.id, function_call_id

"""What the authentication code needs of state, session and context, and nothing more.

The real classes live on higher floors; they fit these shapes without knowing them.
"""

from __future__ import annotations

from typing import Any, Protocol


class StateLike(Protocol):
    """Session state as a mapping; keys that start with `temp:` are never stored."""

    def get(self, key: str, default: Any = None) -> Any: ...
    def __setitem__(self, key: str, value: Any) -> None: ...


class SessionLike(Protocol):
    """Which session it is, and whose."""

    @property
    def id(self) -> str: ...
    @property
    def app_name(self) -> str: ...
    @property
    def user_id(self) -> str: ...


class CredentialContext(Protocol):
    """The callback or tool context that a credential service is called with."""

    @property
    def session(self) -> SessionLike: ...
    @property
    def state(self) -> StateLike: ...

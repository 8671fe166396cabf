"""Protocols of state, session and context, as the authentication code uses them.

The real classes live on higher floors; they fit these shapes without knowing them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ostinato.auth.auth_credential import AuthCredential
    from ostinato.auth.auth_tool import AuthConfig


class StateLike(Protocol):
    """Session state as a mapping; keys that start with `temp:` are never stored."""

    def get(self, key: str, default: Any = None, /) -> Any: ...
    def __setitem__(self, key: str, value: Any, /) -> None: ...


class SessionLike(Protocol):
    """The address of a session."""

    @property
    def id(self) -> str: ...
    @property
    def app_name(self) -> str: ...
    @property
    def user_id(self) -> str: ...


class InvocationLike(Protocol):
    """A run, which holds the credentials that it resolved."""

    @property
    def credential_service(self) -> Any: ...
    @property
    def credential_by_key(self) -> dict[str, Any]: ...


class CredentialContext(Protocol):
    """A callback or tool context, as credential services, providers and managers use it."""

    @property
    def session(self) -> SessionLike: ...
    @property
    def state(self) -> StateLike: ...
    def get_invocation_context(self) -> InvocationLike: ...
    def request_credential(self, auth_config: AuthConfig) -> None: ...
    async def load_credential(self, auth_config: AuthConfig) -> AuthCredential | None: ...
    async def save_credential(self, auth_config: AuthConfig) -> None: ...

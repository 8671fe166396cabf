"""Credentials kept in this process, apart per app and user: for tests and for a laptop."""

from __future__ import annotations

from typing import TypeAlias

from ostinato.auth._credential_context import CredentialContext
from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.credential_service.base_credential_service import BaseCredentialService

_Owner: TypeAlias = tuple[str, str, str | None]


class InMemoryCredentialService(BaseCredentialService):
    """Shares a credential among all sessions of a user; forgets it when the process ends."""

    def __init__(self) -> None:
        self._credentials: dict[_Owner, AuthCredential] = {}

    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> AuthCredential | None:
        """Return a copy of the stored credential, or None."""
        stored = self._credentials.get(_owner(auth_config, callback_context))
        return stored.model_copy(deep=True) if stored else None

    async def save_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> None:
        """Store a copy of `auth_config.exchanged_auth_credential`; None removes what is stored."""
        owner = _owner(auth_config, callback_context)
        credential = auth_config.exchanged_auth_credential
        if credential is None:
            self._credentials.pop(owner, None)
        else:
            self._credentials[owner] = credential.model_copy(deep=True)


def _owner(auth_config: AuthConfig, context: CredentialContext) -> _Owner:
    session = context.session
    return session.app_name, session.user_id, auth_config.credential_key

"""Credentials kept in the session's state, under their own key.

They live as long as the session and are stored with it in clear text, refresh tokens included:
anyone who can read the session's database, backups or state reads them. For anything beyond a
trial, implement `BaseCredentialService` over a secret store or with encryption.
"""

from __future__ import annotations

from ostinato.auth._ports import CredentialContext
from ostinato.auth._stored_credential import read_credential
from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.credential_service.base_credential_service import BaseCredentialService


class SessionStateCredentialService(BaseCredentialService):
    """Keeps each credential in one session's state."""

    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> AuthCredential | None:
        """Return the credential in the session's state, or None.

        Raises:
            InputValidationError: the state holds something else under the credential's key.
        """
        return read_credential(callback_context.state, _key(auth_config))

    async def save_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> None:
        """Write `auth_config.exchanged_auth_credential` into the state; None removes it there."""
        callback_context.state[_key(auth_config)] = auth_config.exchanged_auth_credential


def _key(auth_config: AuthConfig) -> str:
    return auth_config.credential_key or auth_config.get_credential_key()

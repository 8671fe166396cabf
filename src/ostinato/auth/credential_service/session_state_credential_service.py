"""Credentials kept in the session's state, under their own key.

They live as long as the session and are stored with it in clear text, refresh tokens included:
anyone who can read the session's database, backups or state reads them. For anything beyond a
trial, implement `BaseCredentialService` over a secret store or with encryption.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ostinato.auth._credential_context import CredentialContext, StateLike
from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.credential_service.base_credential_service import BaseCredentialService
from ostinato.errors import InputValidationError


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


def read_credential(state: StateLike, key: str) -> AuthCredential | None:
    """Return the credential under `key`, or None.

    Raises:
        InputValidationError: something else is stored under `key`.
    """
    value: Any = state.get(key)
    if value is None or isinstance(value, AuthCredential):
        return value
    try:
        return AuthCredential.model_validate(value)
    except ValidationError as error:
        # The value may hold secrets: name its type only, and do not chain pydantic's message.
        raise InputValidationError(
            f"State key {key!r} should hold a credential but holds a {type(value).__name__} with "
            f"{error.error_count()} invalid field(s). Remove the key and ask for the credential "
            "again."
        ) from None

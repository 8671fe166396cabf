"""The port behind which credentials are kept between invocations."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ostinato.auth._credential_context import CredentialContext
from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_tool import AuthConfig


class BaseCredentialService(ABC):
    """Loads and saves credentials under the `credential_key` of an `AuthConfig`."""

    @abstractmethod
    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> AuthCredential | None:
        """Return the stored credential, or None.

        Args:
            auth_config: names the credential.
            callback_context: whose credential it is.
        """

    @abstractmethod
    async def save_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> None:
        """Store `auth_config.exchanged_auth_credential`; None removes what is stored."""

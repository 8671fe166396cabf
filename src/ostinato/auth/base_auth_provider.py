"""BaseAuthProvider: the port through which a custom scheme gets its credentials."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ostinato.auth._credential_context import CredentialContext
from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_schemes import AuthScheme
from ostinato.auth.auth_tool import AuthConfig


class BaseAuthProvider(ABC):
    """Gives credentials for some classes of schemes; the credential manager asks it."""

    @property
    def supported_auth_schemes(self) -> tuple[type[AuthScheme], ...]:
        """The classes of schemes it serves; empty for one that is registered by hand."""
        return ()

    @abstractmethod
    async def get_auth_credential(
        self, auth_config: AuthConfig, context: CredentialContext
    ) -> AuthCredential | None:
        """Return the credential for a request, or None if the user has to be asked.

        Args:
            auth_config: the request; its scheme is of a class the provider serves.
            context: whose credential it is.
        """

"""The port behind which an expired credential is renewed. The credential manager calls it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_schemes import AuthScheme
from ostinato.errors import ProviderError


class CredentialRefresherError(ProviderError):
    """A credential could not be renewed. The message holds no secret and no word of the server's.

    Attributes:
        ask_again: the user can mend it by consenting anew: the refresh token is spent or revoked.
    """

    def __init__(self, message: str, *, ask_again: bool = False) -> None:
        super().__init__(message)
        self.ask_again = ask_again


class BaseCredentialRefresher(ABC):
    """Renews credentials of one type."""

    @abstractmethod
    async def is_refresh_needed(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> bool:
        """Return whether a credential has expired or is about to."""

    @abstractmethod
    async def refresh(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> AuthCredential:
        """Return the renewed credential, or the same one where it has nothing to renew it with.

        Raises:
            CredentialRefresherError: the server refused or failed.
        """

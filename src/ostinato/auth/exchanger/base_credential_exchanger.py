"""The port behind which a credential is turned into one that a service takes: a code into a token,
say. The credential manager and the authentication handler call it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_schemes import AuthScheme
from ostinato.errors import ProviderError


class CredentialExchangeError(ProviderError):
    """A credential could not be exchanged. The message holds no secret and no word of the server's.

    Attributes:
        ask_again: the user can mend it by consenting anew: the code was refused, had expired or
            been used, or consent was denied.
    """

    def __init__(self, message: str, *, ask_again: bool = False) -> None:
        super().__init__(message)
        self.ask_again = ask_again


class ExchangeResult(NamedTuple):
    """The credential after `exchange`, and whether it is another than before."""

    credential: AuthCredential
    was_exchanged: bool


class BaseCredentialExchanger(ABC):
    """Exchanges credentials of one type.

    Attributes:
        without_user: the raw credential is all it takes, so that no user is asked first.
    """

    without_user: bool = False

    @abstractmethod
    async def exchange(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> ExchangeResult:
        """Exchange a credential, or hand it back where there is nothing to exchange.

        Args:
            auth_credential: what there is; it is not changed.
            auth_scheme: where and how to exchange it.

        Raises:
            CredentialExchangeError: the exchange failed, or lacks something.
        """

"""Blocking exchangers of credentials, under google-adk's names: what a tool gets, ready to send."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...auth.auth_credential import AuthCredential, AuthCredentialTypes
from ...auth.auth_schemes import AuthScheme, SecuritySchemeType
from ...auth.exchanger.base_credential_exchanger import CredentialExchangeError
from ...auth.exchanger.service_account_credential_exchanger import (
    ServiceAccountCredentialExchanger as _AsyncServiceAccountExchanger,
)
from .auth_helpers import bearer_credential

_WITH_TOKEN = (SecuritySchemeType.oauth2, SecuritySchemeType.openIdConnect)


class AuthCredentialMissingError(Exception):
    """A credential lacks what its exchange needs."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BaseAuthCredentialExchanger:
    """Turns a credential into one that can be sent."""

    def exchange_credential(
        self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
    ) -> AuthCredential | None:
        """Return a credential that can be sent; subclasses implement it.

        Args:
          auth_scheme: how the service authenticates.
          auth_credential: the credential.
        """
        raise NotImplementedError("Subclasses must implement exchange_credential.")


class OAuth2CredentialExchanger(BaseAuthCredentialExchanger):
    """Makes a bearer token of an OAuth2 or OpenID Connect credential that has its access token."""

    def generate_auth_token(self, auth_credential: AuthCredential | None = None) -> AuthCredential:
        """Return the access token as a bearer token; the credential itself if it has none.

        Raises:
          ValueError: there is no credential of OAuth2.
        """
        if auth_credential is None or auth_credential.oauth2 is None:
            raise ValueError("auth_credential is empty: create an AuthCredential with OAuth2Auth.")
        token = auth_credential.oauth2.access_token
        return bearer_credential(token) if token else auth_credential

    def exchange_credential(
        self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
    ) -> AuthCredential | None:
        """Return a credential with a bearer token, or None if it has no token yet.

        Raises:
          ValueError: the scheme or the credential is not one of OAuth2 or OpenID Connect.
        """
        if auth_credential is None:
            raise ValueError("auth_credential is empty: create an AuthCredential with OAuth2Auth.")
        if auth_scheme.type_ not in _WITH_TOKEN:
            raise ValueError(
                f"Invalid security scheme {auth_scheme.type_}: oauth2 or openIdConnect is expected."
            )
        if auth_credential.http is not None:
            return auth_credential
        if auth_credential.oauth2 is None:
            raise ValueError("auth_credential is not configured with oauth2: set OAuth2Auth.")
        if not auth_credential.oauth2.access_token:
            return None
        return self.generate_auth_token(auth_credential)


class ServiceAccountCredentialExchanger(BaseAuthCredentialExchanger):
    """Fetches a bearer token for a Google service account; it blocks."""

    def exchange_credential(
        self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
    ) -> AuthCredential:
        """Return a credential with an access token or, with `use_id_token`, an id token.

        Raises:
          AuthCredentialMissingError: there is no account or no scope, or no token was granted.
        """
        account = auth_credential and auth_credential.service_account
        if auth_credential is None or account is None:
            raise AuthCredentialMissingError(
                "Service account credentials are missing: give its key, or set "
                "use_default_credential=True to take the machine's own identity."
            )
        by_key = not account.use_default_credential
        if by_key and not account.use_id_token and not account.scopes:
            raise AuthCredentialMissingError(
                "An access token for a service account's key needs scopes: set scopes."
            )
        work = _AsyncServiceAccountExchanger().exchange(auth_credential, auth_scheme)
        try:
            # In a thread of its own, as the caller's may run an event loop.
            with ThreadPoolExecutor(max_workers=1) as pool:
                return pool.submit(asyncio.run, work).result().credential
        except CredentialExchangeError as error:
            raise AuthCredentialMissingError(
                f"Failed to exchange service account token: {error}"
            ) from error


class AutoAuthCredentialExchanger(BaseAuthCredentialExchanger):
    """Exchanges each credential by the exchanger of its type; one without stays unchanged.

    Args:
      custom_exchangers: classes of exchangers by type of credential, in place of the given ones.
    """

    def __init__(
        self,
        custom_exchangers: Mapping[Any, type[BaseAuthCredentialExchanger]] | None = None,
    ) -> None:
        self.exchangers: dict[Any, type[BaseAuthCredentialExchanger]] = {
            AuthCredentialTypes.OAUTH2: OAuth2CredentialExchanger,
            AuthCredentialTypes.OPEN_ID_CONNECT: OAuth2CredentialExchanger,
            AuthCredentialTypes.SERVICE_ACCOUNT: ServiceAccountCredentialExchanger,
            **(custom_exchangers or {}),
        }

    def exchange_credential(
        self, auth_scheme: AuthScheme, auth_credential: AuthCredential | None = None
    ) -> AuthCredential | None:
        """Return the exchanged credential; None without one."""
        if auth_credential is None:
            return None
        kind = self.exchangers.get(auth_credential.auth_type)
        return kind().exchange_credential(auth_scheme, auth_credential) if kind else auth_credential

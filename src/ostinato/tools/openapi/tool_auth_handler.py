"""ToolAuthHandler: the credential of one call, found, renewed, exchanged, or asked for."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import BaseModel

from ...auth.auth_credential import AuthCredential, AuthCredentialTypes
from ...auth.auth_schemes import AuthScheme, SecuritySchemeType
from ...auth.auth_tool import AuthConfig
from ...auth.credential_manager import CredentialManager
from ...auth.refresher.oauth2_credential_refresher import OAuth2CredentialRefresher
from ...context.context import Context
from .credential_exchangers import (
    AuthCredentialMissingError,
    AutoAuthCredentialExchanger,
    BaseAuthCredentialExchanger,
)

AuthPreparationState = Literal["pending", "done"]
_WITH_CONSENT = (SecuritySchemeType.oauth2, SecuritySchemeType.openIdConnect)
_OAUTH2 = (AuthCredentialTypes.OAUTH2, AuthCredentialTypes.OPEN_ID_CONNECT)


class AuthPreparationResult(BaseModel):
    """The credential of a call, or that the user is asked for it.

    Attributes:
      state: `done`, or `pending` while the user is asked.
      auth_scheme, auth_credential: what to send.
    """

    state: AuthPreparationState
    auth_scheme: AuthScheme | None = None
    auth_credential: AuthCredential | None = None


class ToolContextCredentialStore:
    """Credentials in the session's state, where google-adk's tools keep them.

    Ostinato's tools read them there, so that sessions of google-adk continue. They keep new tokens
    in the credential service, as state is stored in clear text.

    Args:
      tool_context: the context of the call.
    """

    def __init__(self, tool_context: Any) -> None:
        self.tool_context = tool_context

    def get_credential_key(
        self, auth_scheme: AuthScheme | None, auth_credential: AuthCredential | None
    ) -> str:
        """Return the key of a credential in the state."""
        if auth_scheme is None:
            return "__existing_exchanged_credential"
        config = AuthConfig(auth_scheme=auth_scheme, raw_auth_credential=auth_credential)
        derived = config.get_credential_key().removeprefix("adk_")
        return f"{derived}_existing_exchanged_credential"

    def get_credential(
        self, auth_scheme: AuthScheme | None, auth_credential: AuthCredential | None
    ) -> AuthCredential | None:
        """Return the credential that the state has, or None."""
        if not self.tool_context:
            return None
        kept = self.tool_context.state.get(self.get_credential_key(auth_scheme, auth_credential))
        return AuthCredential.model_validate(kept) if kept else None

    def store_credential(self, key: str, auth_credential: AuthCredential | None) -> None:
        """Put a credential into the session's state, in clear text."""
        if self.tool_context and auth_credential is not None:
            dumped = auth_credential.model_dump(exclude_none=True)
            self.tool_context.state[key] = dumped

    def remove_credential(self, key: str) -> None:
        """Remove a credential from the session's state."""
        self.tool_context.state[key] = None  # which is how state forgets


class ToolAuthHandler:
    """Gets the credential of one call (Spec 1 §10, "Authentication Flow").

    Args:
      tool_context: the context of the call; without one, only a credential that is ready can be
        used.
      auth_scheme: how the service authenticates; None if it does not.
      auth_credential: what the developer gave.
      credential_exchanger: makes of a credential what is sent.
      credential_store: credentials in the session's state.
      credential_key: name of the credential in stores.
    """

    def __init__(
        self,
        tool_context: Any,
        auth_scheme: AuthScheme | None,
        auth_credential: AuthCredential | None,
        credential_exchanger: BaseAuthCredentialExchanger | None = None,
        credential_store: ToolContextCredentialStore | None = None,
        *,
        credential_key: str | None = None,
    ) -> None:
        self.tool_context = tool_context
        self.auth_scheme = auth_scheme.model_copy(deep=True) if auth_scheme else None
        self.auth_credential = auth_credential.model_copy(deep=True) if auth_credential else None
        self.credential_exchanger = credential_exchanger or AutoAuthCredentialExchanger()
        self.credential_store = credential_store
        self._credential_key = credential_key

    @classmethod
    def from_tool_context(
        cls,
        tool_context: Any,
        auth_scheme: AuthScheme | None,
        auth_credential: AuthCredential | None,
        credential_exchanger: BaseAuthCredentialExchanger | None = None,
        *,
        credential_key: str | None = None,
    ) -> ToolAuthHandler:
        """Return a handler that also knows the credentials in the state of a call's session."""
        return cls(
            tool_context,
            auth_scheme,
            auth_credential,
            credential_exchanger,
            ToolContextCredentialStore(tool_context),
            credential_key=credential_key,
        )

    async def prepare_auth_credentials(self) -> AuthPreparationResult:
        """Return the credential to send; ask the user if it is missing.

        Raises:
          ValueError: the scheme needs a client that the developer did not give.
          CredentialExchangeError, CredentialRefresherError: the provider failed.
        """
        scheme = self.auth_scheme
        if scheme is None:
            return AuthPreparationResult(state="done")
        credential = await self._find_stored(scheme) or await self._find_credential(scheme)
        if credential is None:
            self._request_credential(scheme)
            return AuthPreparationResult(
                state="pending", auth_scheme=scheme, auth_credential=self.auth_credential
            )
        # It may block: exchangers of google-adk's kind are plain functions.
        exchanged = await asyncio.to_thread(
            self.credential_exchanger.exchange_credential, scheme, credential
        )
        return AuthPreparationResult(state="done", auth_scheme=scheme, auth_credential=exchanged)

    async def _find_stored(self, scheme: AuthScheme) -> AuthCredential | None:
        """Return the credential in the session's state, renewed if it has expired."""
        store = self.credential_store
        stored = store.get_credential(scheme, self.auth_credential) if store else None
        if store is None or stored is None or stored.oauth2 is None:
            return stored
        refresher = OAuth2CredentialRefresher()
        if await refresher.is_refresh_needed(stored, scheme):
            stored = await refresher.refresh(stored, scheme)
            store.store_credential(store.get_credential_key(scheme, self.auth_credential), stored)
        return stored

    async def _find_credential(self, scheme: AuthScheme) -> AuthCredential | None:
        given = self.auth_credential
        context = self.tool_context
        if context is None:
            if given is None or (given.auth_type in _OAUTH2 and not _holds_token(given)):
                raise ValueError(
                    f"A credential for {type(scheme).__name__} is missing, and without a tool "
                    "context no user can be asked for it."
                )
            return given
        if issubclass(_class_of(context), Context):
            return await CredentialManager(self._make_config(scheme)).get_auth_credential(context)
        # A stand-in for a context, as tests have one.
        if given is not None and not (given.auth_type in _OAUTH2 and not _holds_token(given)):
            return given
        return context.get_auth_response(self._make_config(scheme)) or None

    def _request_credential(self, scheme: AuthScheme) -> None:
        if scheme.type_ in _WITH_CONSENT:
            given = self.auth_credential
            if given is None or given.oauth2 is None:
                raise ValueError(
                    f"auth_credential is empty for scheme {scheme.type_}: create an AuthCredential "
                    "with OAuth2Auth."
                )
            for name in ("client_id", "client_secret"):
                if not getattr(given.oauth2, name):
                    raise AuthCredentialMissingError(f"OAuth2 credentials {name} is missing.")
        self.tool_context.request_credential(self._make_config(scheme))

    def _make_config(self, scheme: AuthScheme) -> AuthConfig:
        return AuthConfig(
            auth_scheme=scheme,
            raw_auth_credential=self.auth_credential,
            credential_key=self._credential_key,
        )


def _class_of(value: object) -> type:
    """Return the class that a value has, whatever a mock says that it is."""
    return type(value)


def _holds_token(credential: AuthCredential) -> bool:
    return bool(credential.oauth2 and credential.oauth2.access_token)

"""Credentials of google-auth for tools: one login for all users, or each user's own consent.

`GoogleTool` asks the manager here. google-auth loads at the first use; it needs the extra `vertex`.
"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from ..._optional import need
from ...auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from ...auth.auth_schemes import OAuth2, OAuthFlowAuthorizationCode, OAuthFlows
from ...auth.auth_tool import AuthConfig
from ...auth.credential_manager import CredentialManager
from ...context.context import Context
from ...context.context import Context as ToolContext
from ...errors import AgentConfigError

EXTRA = "vertex"
_CONSENT_URL = "https://accounts.google.com/o/oauth2/auth"
_TOKEN_URL = "https://oauth2.googleapis.com/token"


class BaseGoogleCredentialsConfig(BaseModel):
    """Where the tools of a Google service get their credentials. Exactly one of three ways.

    The tokens of users who consented are kept by the runner's credential service; without one they
    last for the invocation. A subclass may set `_token_cache_key` in its `__post_init__`: the key
    of the session's state under which google-adk kept them, where they are still read.

    Attributes:
      credentials: a login of google-auth, which serves all users. For the machine's own identity:
        `google.auth.default()[0]`.
      external_access_token_key: the key in the session's state under which another system puts an
        access token.
      client_id, client_secret: the OAuth2 client by which each user is asked for consent.
      scopes: what the users are asked to allow.

    Raises:
      ValueError: no way is given, or more than one.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    credentials: Any = None
    external_access_token_key: str | None = None
    client_id: str | None = None
    client_secret: str | None = None
    scopes: list[str] | None = None

    _token_cache_key: str | None = None

    @field_validator("credentials")
    @classmethod
    def check_credentials(cls, value: Any) -> Any:
        """Return a login of google-auth unchanged; refuse any other object."""
        if value is not None:
            kind = need("google.auth.credentials", extra=EXTRA).Credentials
            if not isinstance(value, kind):
                raise ValueError(
                    f"credentials takes a login of google-auth, not {type(value).__name__}. Use "
                    "google.auth.default()[0], or load one from a key file."
                )
        return value

    @model_validator(mode="after")
    def complete_fields(self) -> Self:
        """Run `__post_init__`, which subclasses extend."""
        return self.__post_init__()

    def __post_init__(self) -> Self:
        """Check that one way is given; take the client of a user's own login."""
        client = self.client_id or self.client_secret or self.scopes
        if self.credentials is not None:
            if self.external_access_token_key or client:
                raise ValueError(
                    "If credentials are provided, external_access_token_key, client_id, "
                    "client_secret, and scopes must not be provided."
                )
            if _is_user_login(self.credentials):
                self.client_id = self.credentials.client_id
                self.client_secret = self.credentials.client_secret
                self.scopes = self.credentials.scopes
        elif self.external_access_token_key:
            if client:
                raise ValueError(
                    "If external_access_token_key is provided, client_id, client_secret, and "
                    "scopes must not be provided."
                )
        elif not (self.client_id and self.client_secret):
            raise ValueError(
                "Must provide one of credentials, external_access_token_key, or client_id and "
                "client_secret pair."
            )
        return self

    @property
    def token_cache_key(self) -> str | None:
        """The key of the session's state under which google-adk kept a user's tokens, or None."""
        return self._token_cache_key


class GoogleCredentialsManager:
    """Gets the credentials of one call; asks the user for consent where that is needed.

    Args:
      credentials_config: where the credentials come from.
    """

    def __init__(self, credentials_config: BaseGoogleCredentialsConfig) -> None:
        self.credentials_config = credentials_config

    async def get_valid_credentials(self, tool_context: ToolContext) -> Any:
        """Return a login of google-auth, refreshed if need be; None while the user is asked.

        Args:
          tool_context: the context of the call.

        Raises:
          AgentConfigError: the state has no token under `external_access_token_key`, or the login
            has expired and there is no client to ask users by.
          CredentialExchangeError, CredentialRefresherError: the provider of tokens failed.
          MissingExtraError: google-auth is not installed.
        """
        config = self.credentials_config
        if config.external_access_token_key:
            return self._take_external_token(tool_context, config.external_access_token_key)
        kept = self._load_tokens(tool_context)
        found = kept or config.credentials
        if found is not None and not _is_user_login(found):
            if not found.valid:
                # What is wrong with the login, the request itself reports.
                await _refresh(found)
            return found
        if found is not None and found.valid:
            return found
        # A login of `gcloud auth application-default login` has a refresh token and no token yet.
        if found is not None and found.refresh_token and await _refresh(found):
            if kept is not None:
                self._keep_tokens(tool_context, kept)
            return found
        return await self._ask_user(tool_context)

    def _take_external_token(self, tool_context: ToolContext, key: str) -> Any:
        token = tool_context.state.get(key)
        if not token:
            raise AgentConfigError(
                f"The session's state has no access token under {key!r}, which "
                "external_access_token_key names. Put one there before the agent runs."
            )
        return need("google.oauth2.credentials", extra=EXTRA).Credentials(token=token)

    def _load_tokens(self, tool_context: ToolContext) -> Any:
        """Return the login that google-adk kept in the session's state, or None."""
        config = self.credentials_config
        kept = tool_context.state.get(config.token_cache_key) if config.token_cache_key else None
        if not kept:
            return None
        client = {"client_id": config.client_id, "client_secret": config.client_secret}
        facts = {**json.loads(kept), **{name: value for name, value in client.items() if value}}
        kind = need("google.oauth2.credentials", extra=EXTRA).Credentials
        return kind.from_authorized_user_info(facts, config.scopes)

    def _keep_tokens(self, tool_context: ToolContext, login: Any) -> None:
        """Keep a user's tokens in the state, without the client's secret, which the config has."""
        key = self.credentials_config.token_cache_key
        if key:
            tool_context.state[key] = login.to_json(strip=["client_secret"])

    async def _ask_user(self, tool_context: ToolContext) -> Any:
        """Return the login of a user who has consented; else ask, and return None."""
        config = self.credentials_config
        if not config.client_id:
            raise AgentConfigError(
                "The login in credentials has expired and cannot be refreshed. Give one with a "
                "refresh token, or client_id and client_secret to ask the users."
            )
        request = self._make_request()
        if _is_context(tool_context):
            answer = await CredentialManager(request).get_auth_credential(tool_context)
        else:  # a stand-in for a context, as tests have one
            answer = tool_context.get_auth_response(request)
        if answer is None or answer.oauth2 is None or not answer.oauth2.access_token:
            tool_context.request_credential(request)
            return None
        login = need("google.oauth2.credentials", extra=EXTRA).Credentials(
            token=answer.oauth2.access_token,
            refresh_token=answer.oauth2.refresh_token,
            token_uri=_TOKEN_URL,
            client_id=config.client_id,
            client_secret=config.client_secret,
            scopes=[*(config.scopes or ())],
            expiry=_read_expiry(answer.oauth2.expires_at),
        )
        if not _is_context(tool_context):
            self._keep_tokens(tool_context, login)
        return login

    def _make_request(self) -> AuthConfig:
        """Return what the users are asked for."""
        config = self.credentials_config
        flow = OAuthFlowAuthorizationCode(
            authorizationUrl=_CONSENT_URL,
            tokenUrl=_TOKEN_URL,
            scopes={scope: f"Access to {scope}" for scope in config.scopes or ()},
        )
        client = OAuth2Auth(client_id=config.client_id, client_secret=config.client_secret)
        return AuthConfig(
            auth_scheme=OAuth2(flows=OAuthFlows(authorizationCode=flow)),
            raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=client),
        )


def _is_context(value: object) -> bool:
    """Return whether a value is a context; a mock of one is not."""
    return issubclass(type(value), Context)


def _read_expiry(seconds: int | None) -> datetime | None:
    """Return a time in the form of google-auth: UTC without a zone."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _is_user_login(login: Any) -> bool:
    """Return whether a login is a user's, with tokens of OAuth2, and no service account's."""
    return isinstance(login, need("google.oauth2.credentials", extra=EXTRA).Credentials)


async def _refresh(login: Any) -> bool:
    """Refresh a login; return whether it is valid now."""
    errors = need("google.auth.exceptions", extra=EXTRA)
    request = need("google.auth.transport.requests", extra=EXTRA).Request()
    try:
        await asyncio.to_thread(login.refresh, request)
    except errors.GoogleAuthError:
        return False
    return bool(login.valid)

"""Renews OAuth2 and OpenID Connect tokens by their refresh token (RFC 6749 §6)."""

from __future__ import annotations

from ostinato.auth._token_endpoint import TokenEndpointError, ask_for_token
from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_schemes import AuthScheme
from ostinato.auth.oauth2_credential_util import AUTHLIB_AVAILABLE as AUTHLIB_AVAILABLE
from ostinato.auth.oauth2_credential_util import (
    create_async_client,
    has_expired,
    update_credential_with_tokens,
)
from ostinato.auth.refresher.base_credential_refresher import (
    BaseCredentialRefresher,
    CredentialRefresherError,
)


class OAuth2CredentialRefresher(BaseCredentialRefresher):
    """Renews a token up to a minute before it expires. A token without expiry stays."""

    async def is_refresh_needed(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> bool:
        """Return whether the access token is past its time, or a minute or less before it."""
        return has_expired(auth_credential)

    async def refresh(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> AuthCredential:
        """Return a copy with the new tokens; the same credential where it has no refresh token.

        Where the server sends no new refresh token, the old one stays.

        Raises:
            CredentialRefresherError: the server refused or failed.
        """
        oauth2 = auth_credential.oauth2
        if auth_scheme is None or oauth2 is None or not oauth2.refresh_token:
            return auth_credential
        session, endpoint = create_async_client(auth_scheme, auth_credential)
        if session is None or endpoint is None:
            return auth_credential
        try:
            tokens = await ask_for_token(
                session, endpoint, grant_type="refresh_token", refresh_token=oauth2.refresh_token
            )
        except TokenEndpointError as error:
            raise CredentialRefresherError(
                f"The token could not be refreshed: {error}", ask_again=error.refused
            ) from None
        renewed = auth_credential.model_copy(deep=True)
        update_credential_with_tokens(renewed, tokens)
        return renewed

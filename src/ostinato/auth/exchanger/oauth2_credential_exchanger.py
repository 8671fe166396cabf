"""Turns an authorization code, or the client's own id and secret, into OAuth2 tokens.

The credential manager and the authentication handler call it (RFC 6749 §4.1.3 and §4.4, RFC 7636).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from ostinato.auth._token_endpoint import TokenEndpointError, ask_for_token
from ostinato.auth.auth_credential import AuthCredential, OAuth2Auth
from ostinato.auth.auth_schemes import (
    AuthScheme,
    OAuth2,
    OAuthGrantType,
    OpenIdConnectWithConfig,
    as_scheme,
)
from ostinato.auth.exchanger.base_credential_exchanger import (
    BaseCredentialExchanger,
    CredentialExchangeError,
    ExchangeResult,
)
from ostinato.auth.oauth2_credential_util import AUTHLIB_AVAILABLE as AUTHLIB_AVAILABLE
from ostinato.auth.oauth2_credential_util import (
    create_async_client,
    scopes_of,
    update_credential_with_tokens,
)


class OAuth2CredentialExchanger(BaseCredentialExchanger):
    """Exchanges OAuth2 and OpenID Connect credentials that hold no access token yet."""

    async def exchange(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> ExchangeResult:
        """Ask the scheme's token endpoint for tokens.

        An authorization code comes from `auth_code`, or from the query of `auth_response_uri`,
        whose `state` has to be the one that was sent out. Implicit and password flows, which need
        no exchange or are not to be used, leave the credential unchanged.

        Raises:
            CredentialExchangeError: there is no scheme, no client or no code, or the provider
                refused or failed.
        """
        if auth_scheme is None:
            raise CredentialExchangeError(
                "An OAuth2 credential cannot be exchanged without an auth_scheme: give the "
                "AuthConfig one with a token endpoint."
            )
        oauth2, auth_scheme = auth_credential.oauth2, as_scheme(auth_scheme)
        grant = grant_of(auth_scheme)
        if oauth2 is None or oauth2.access_token or grant is None:
            return ExchangeResult(auth_credential, False)
        form = (
            _code_form(oauth2, getattr(auth_scheme, "issuer_url", None))
            if grant == "authorization_code"
            else _client_form(oauth2, scopes_of(auth_scheme))
        )
        session, endpoint = create_async_client(auth_scheme, auth_credential)
        if session is None or endpoint is None:
            raise CredentialExchangeError(
                "A token is granted to a known client at a known address only: give "
                "oauth2.client_id and oauth2.client_secret in raw_auth_credential, and a scheme "
                "with a token endpoint."
            )
        try:
            tokens = await ask_for_token(session, endpoint, grant_type=grant, **form)
        except TokenEndpointError as error:
            raise CredentialExchangeError(
                f"No token was granted ({grant}): {error}", ask_again=error.refused
            ) from None
        exchanged = auth_credential.model_copy(deep=True)
        update_credential_with_tokens(exchanged, tokens)
        return ExchangeResult(exchanged, True)


def grant_of(auth_scheme: AuthScheme) -> str | None:
    """Return the grant that gets a token for the scheme, or None without an exchange."""
    if isinstance(auth_scheme, OpenIdConnectWithConfig):
        grants = auth_scheme.grant_types_supported or ()
        alone = "client_credentials" in grants and "authorization_code" not in grants
        return "client_credentials" if alone else "authorization_code"
    if not isinstance(auth_scheme, OAuth2):
        return None
    grant = OAuthGrantType.from_flow(auth_scheme.flows)
    exchanged = (OAuthGrantType.CLIENT_CREDENTIALS, OAuthGrantType.AUTHORIZATION_CODE)
    return grant.value if grant and grant in exchanged else None


def _client_form(oauth2: OAuth2Auth, scopes: list[str]) -> dict[str, str]:
    form = {"scope": " ".join(scopes), "audience": oauth2.audience}
    return {name: text for name, text in form.items() if text}


def _code_form(oauth2: OAuth2Auth, issuer: str | None) -> dict[str, str]:
    form: dict[str, str | None] = {
        "code": oauth2.auth_code or _code_in_answer(oauth2, issuer),
        "redirect_uri": oauth2.redirect_uri,
        "code_verifier": oauth2.code_verifier,
    }
    return {name: text for name, text in form.items() if text}


def _code_in_answer(oauth2: OAuth2Auth, issuer: str | None) -> str:
    """Return the code in the address that the provider sent the user's browser back to.

    An answer that names its issuer (RFC 9207) has to come from the scheme's.
    """
    answer = oauth2.auth_response_uri
    query: dict[str, Any] = parse_qs(urlsplit(answer).query) if answer else {}
    if oauth2.state and query and query.get("state") != [oauth2.state]:
        raise CredentialExchangeError(
            "The answer's state is not the one that was sent out: it belongs to another request. "
            "Consent is needed again.",
            ask_again=True,
        )
    named: str = (query.get("iss") or [""])[0]
    if issuer and named and named.rstrip("/") != issuer.rstrip("/"):
        raise CredentialExchangeError(
            "The answer is of another issuer than the scheme's; its code is not sent anywhere. "
            "Consent is needed again.",
            ask_again=True,
        )
    if "error" in query:
        raise CredentialExchangeError(
            "The provider sent the user back with an error: consent was denied or the request was "
            "refused.",
            ask_again=True,
        )
    codes: list[str] = query.get("code") or []
    if len(codes) != 1:
        raise CredentialExchangeError(
            "The answer holds no authorization code. Answer with oauth2.auth_response_uri, the "
            "whole address that the browser was sent back to, or with oauth2.auth_code.",
            ask_again=True,
        )
    return codes[0]

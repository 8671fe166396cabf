"""Exchange of a service account's key for a token, by a signed assertion (RFC 7523 §2.1).

A key needs no Google library, only joserfc for the signature; the
machine's own identity needs google-auth.
"""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

from ostinato._clock import now
from ostinato._optional import need
from ostinato.auth._token_endpoint import EXTRA, TokenEndpointError, ask_for_token
from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    ServiceAccount,
    ServiceAccountCredential,
)
from ostinato.auth.auth_schemes import AuthScheme
from ostinato.auth.exchanger.base_credential_exchanger import (
    BaseCredentialExchanger,
    CredentialExchangeError,
    ExchangeResult,
)
from ostinato.auth.oauth2_credential_util import update_credential_with_tokens

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_MACHINE_EXTRA = "vertex"
_MACHINE_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_LIFETIME_SECONDS = 3_600


class ServiceAccountCredentialExchanger(BaseCredentialExchanger):
    """Exchanges a service account for a bearer token: an access token, or an id token.

    The result is an HTTP credential whose `oauth2` part says when it expires.
    """

    without_user = True

    async def exchange(
        self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None
    ) -> ExchangeResult:
        """Sign an assertion with the account's key and ask its `token_uri` for a token.

        With `use_default_credential` the machine's own identity is asked instead.

        Raises:
            CredentialExchangeError: there is no key or it cannot sign, or the provider refused or
                failed.
        """
        account = auth_credential.service_account
        if account is None:
            return ExchangeResult(auth_credential, False)
        key = account.service_account_credential
        if account.use_default_credential or key is None:
            return ExchangeResult(await asyncio.to_thread(fetch_machine_credential, account), True)
        assertion = _sign(key, _claims(account, key))
        client = need("httpx2", extra=EXTRA).AsyncClient()
        try:
            tokens = await ask_for_token(
                client, key.token_uri, grant_type=_GRANT, assertion=assertion
            )
        except TokenEndpointError as error:
            raise CredentialExchangeError(
                f"No token was granted to service account {key.client_email}: {error} Check that "
                "its key is valid and that it may ask for these scopes."
            ) from None
        return ExchangeResult(_bearer_of_answer(tokens, account.use_id_token or False), True)


def _claims(account: ServiceAccount, key: ServiceAccountCredential) -> dict[str, Any]:
    issued = int(now())
    claims = {"iss": key.client_email, "aud": key.token_uri, "iat": issued}
    wanted = (
        {"target_audience": account.audience, "sub": key.client_email}
        if account.use_id_token
        else {"scope": " ".join(account.scopes or ())}
    )
    return {**claims, "exp": issued + _LIFETIME_SECONDS, **wanted}


def _sign(key: ServiceAccountCredential, claims: dict[str, Any]) -> str:
    header = {"alg": "RS256", "typ": "JWT", "kid": key.private_key_id}
    jwk = need("joserfc.jwk", extra=EXTRA)
    errors = need("joserfc.errors", extra=EXTRA)
    try:
        private = jwk.RSAKey.import_key(key.private_key)
        return need("joserfc.jwt", extra=EXTRA).encode(header, claims, private)
    except (ValueError, TypeError, errors.JoseError):
        raise CredentialExchangeError(
            f"The private key of service account {key.client_email} cannot sign: it is not an RSA "
            "key in PEM form. Copy private_key unchanged from the account's key file."
        ) from None


def _bearer_of_answer(tokens: dict[str, Any], use_id_token: bool) -> AuthCredential:
    oauth2 = OAuth2Auth()
    holder = AuthCredential(auth_type=AuthCredentialTypes.HTTP, oauth2=oauth2)
    update_credential_with_tokens(holder, tokens)
    first, second = oauth2.access_token, oauth2.id_token
    token = (second or first) if use_id_token else (first or second)
    if use_id_token and oauth2.expires_at is None:
        # An id token comes without expires_in; it is asked for with this lifetime.
        oauth2.expires_at = int(now()) + _LIFETIME_SECONDS
    expiry = OAuth2Auth(expires_at=oauth2.expires_at, expires_in=oauth2.expires_in)
    return _bearer(token, expiry)


def fetch_machine_credential(account: ServiceAccount) -> AuthCredential:
    """Return a bearer token of the identity that this machine runs as; it blocks.

    An access token comes with the header `x-goog-user-project`, which names the project that pays.

    Args:
        account: says whether an id token or an access token is wanted, and for what.

    Raises:
        CredentialExchangeError: the machine has no identity, or Google refused.
        MissingExtraError: google-auth is not installed.
    """
    auth = need("google.auth", extra=_MACHINE_EXTRA)
    request = need("google.auth.transport.requests", extra=_MACHINE_EXTRA).Request()
    try:
        if account.use_id_token:
            tokens = need("google.oauth2.id_token", extra=_MACHINE_EXTRA)
            token = tokens.fetch_id_token(request, account.audience)
            return _bearer(token, OAuth2Auth(expires_at=int(now()) + _LIFETIME_SECONDS))
        found, project = auth.default(scopes=account.scopes or _MACHINE_SCOPES)
        found.refresh(request)
        payer = getattr(found, "quota_project_id", None) or project
        return _bearer(found.token, OAuth2Auth(expires_at=_seconds_of(found.expiry)), payer)
    except auth.exceptions.GoogleAuthError as error:
        raise CredentialExchangeError(
            f"No token was granted to the machine's own identity ({type(error).__name__}). Run "
            "`gcloud auth application-default login`, set GOOGLE_APPLICATION_CREDENTIALS, or give "
            "the account's key in service_account_credential."
        ) from None


def _bearer(token: str | None, expiry: OAuth2Auth, payer: str | None = None) -> AuthCredential:
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(
            scheme="bearer",
            credentials=HttpCredentials(token=token),
            additional_headers={"x-goog-user-project": payer} if payer else None,
        ),
        oauth2=expiry,
    )


def _seconds_of(expiry: Any) -> int:
    """Return a time of google-auth, which is UTC without a zone, in seconds since 1970."""
    if expiry is None:
        return int(now()) + _LIFETIME_SECONDS
    return int(expiry.replace(tzinfo=datetime.UTC).timestamp())

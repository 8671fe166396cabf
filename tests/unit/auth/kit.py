"""Configurations that the credential tests share, for the fake identity provider."""

from __future__ import annotations

from typing import Any

from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from ostinato.auth.auth_schemes import (
    AuthScheme,
    OAuth2,
    OAuthFlowAuthorizationCode,
    OAuthFlowClientCredentials,
    OAuthFlows,
)
from ostinato.auth.auth_tool import AuthConfig
from tests.unit.auth.identity_provider import CLIENT_ID, CLIENT_SECRET, REDIRECT, IdentityProvider


def code_flow(idp: IdentityProvider) -> OAuth2:
    return OAuth2(
        flows=OAuthFlows(
            authorizationCode=OAuthFlowAuthorizationCode(
                authorizationUrl=idp.authorize_url,
                tokenUrl=idp.token_url,
                scopes={"mail": "Read mail"},
            )
        )
    )


def client_flow(idp: IdentityProvider) -> OAuth2:
    return OAuth2(
        flows=OAuthFlows(
            clientCredentials=OAuthFlowClientCredentials(
                tokenUrl=idp.token_url, scopes={"jobs": "Run jobs"}
            )
        )
    )


def client(kind: AuthCredentialTypes = AuthCredentialTypes.OAUTH2, **fields: Any) -> AuthCredential:
    known = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "redirect_uri": REDIRECT}
    return AuthCredential(auth_type=kind, oauth2=OAuth2Auth(**{**known, **fields}))


def pkce_config(idp: IdentityProvider) -> AuthConfig:
    return AuthConfig(
        auth_scheme=code_flow(idp), raw_auth_credential=client(code_challenge_method="S256")
    )


def oauth2_of(credential: AuthCredential | None) -> OAuth2Auth:
    assert credential is not None
    assert credential.oauth2 is not None
    return credential.oauth2


def config_of(scheme: AuthScheme, raw: AuthCredential | None = None) -> AuthConfig:
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=raw or client())

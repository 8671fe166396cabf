"""One credential request from asking to answer: builds what the client sees, keeps what it answers.

Contexts call `generate_auth_request` and `get_auth_response`, the authentication processor calls
`parse_and_store_auth_response`.
"""

from __future__ import annotations

from ostinato.auth._consent_uri import add_consent_request, find_endpoint
from ostinato.auth._ports import StateLike
from ostinato.auth._stored_credential import read_credential
from ostinato.auth.auth_credential import AuthCredential, OAuth2Auth
from ostinato.auth.auth_schemes import SecurityBase, SecuritySchemeType
from ostinato.auth.auth_tool import AuthConfig
from ostinato.errors import InputValidationError

_WITH_CONSENT = (SecuritySchemeType.oauth2, SecuritySchemeType.openIdConnect)


class AuthHandler:
    """Handles the request and the answer for one `AuthConfig` (Spec 1 §10, "Authentication Flow").

    API keys, HTTP credentials and OAuth2 credentials that hold an access token go all the way.
    Exchanging an authorization code or a client secret for a token is not built yet and raises.
    """

    def __init__(self, auth_config: AuthConfig) -> None:
        self.auth_config = auth_config

    def generate_auth_request(self) -> AuthConfig:
        """The configuration to send to the client.

        For OAuth2 and OpenID Connect its `exchanged_auth_credential` holds the address where the
        user consents: the given `auth_uri`, else a new one with a fresh `state`.

        Raises:
            InputValidationError: the raw credential lacks what the scheme needs.
            NotImplementedError: see `generate_auth_uri`.
        """
        config = self.auth_config
        asked = config.exchanged_auth_credential
        if not self._asks_for_consent or (asked and asked.oauth2 and asked.oauth2.auth_uri):
            return config.model_copy(deep=True)
        raw, oauth2 = self._client()
        exchanged = raw.model_copy(deep=True) if oauth2.auth_uri else self.generate_auth_uri()
        return AuthConfig(
            auth_scheme=config.auth_scheme,
            raw_auth_credential=raw,
            exchanged_auth_credential=exchanged,
            credential_key=config.credential_key,
        )

    def generate_auth_uri(self) -> AuthCredential:
        """A copy of the raw credential with `auth_uri`, `state` and, with PKCE, `code_verifier`.

        Raises:
            InputValidationError: no client, no flow, or an unknown code challenge method.
            NotImplementedError: the endpoint has to be discovered, or the flow needs an exchange
                and no consent.
        """
        raw, oauth2 = self._client()
        if not (oauth2.client_id and oauth2.client_secret):
            raise InputValidationError(
                f"{self._scheme_name} needs oauth2.client_id and oauth2.client_secret in "
                "raw_auth_credential to ask the user for consent; give both, or give "
                "oauth2.auth_uri yourself."
            )
        endpoint, scopes = find_endpoint(self.auth_config.auth_scheme)
        credential = raw.model_copy(update={"oauth2": oauth2.model_copy(deep=True)})
        if credential.oauth2:
            add_consent_request(credential.oauth2, endpoint, scopes)
        return credential

    async def parse_and_store_auth_response(self, state: StateLike) -> None:
        """Keep the client's answer under `temp:` + credential key, for this invocation only.

        Raises:
            InputValidationError: an OAuth2 answer without anything to use.
            NotImplementedError: the answer must be exchanged for a token first.
        """
        answer = self.auth_config.exchanged_auth_credential
        if self._asks_for_consent:
            answer = await self.exchange_auth_token()
        state[self._state_key] = answer

    def get_auth_response(self, state: StateLike) -> AuthCredential | None:
        """The answer that was kept in this invocation, None if there is none yet."""
        return read_credential(state, self._state_key)

    async def exchange_auth_token(self) -> AuthCredential:
        """The answered credential with its token.

        Raises:
            InputValidationError: the answer has neither a token nor a code.
            NotImplementedError: it has no token yet, and would have to be exchanged for one.
        """
        answer = self.auth_config.exchanged_auth_credential
        oauth2 = answer.oauth2 if answer else None
        if answer and oauth2 and oauth2.access_token:
            return answer
        if oauth2 and (oauth2.auth_code or oauth2.auth_response_uri):
            raise NotImplementedError(
                f"The answer for credential {self.auth_config.credential_key!r} holds an "
                "authorization code, and its exchange for a token is not built yet. Let the client "
                "exchange the code and answer with oauth2.access_token in exchangedAuthCredential."
            )
        raise InputValidationError(
            f"The answer for credential {self.auth_config.credential_key!r} ({self._scheme_name}) "
            "holds neither an access token nor an authorization code. Answer with "
            "oauth2.access_token in exchangedAuthCredential."
        )

    @property
    def _state_key(self) -> str:
        return f"temp:{self.auth_config.credential_key}"

    @property
    def _scheme_name(self) -> str:
        kind = self.auth_config.auth_scheme.type_
        return f"Authentication scheme {kind if isinstance(kind, str) else kind.value!r}"

    @property
    def _asks_for_consent(self) -> bool:
        scheme = self.auth_config.auth_scheme
        return isinstance(scheme, SecurityBase) and scheme.type_ in _WITH_CONSENT

    def _client(self) -> tuple[AuthCredential, OAuth2Auth]:
        raw = self.auth_config.raw_auth_credential
        if raw is None or raw.oauth2 is None:
            raise InputValidationError(
                f"{self._scheme_name} needs a raw_auth_credential with its field oauth2; give the "
                "client's id and secret there."
            )
        return raw, raw.oauth2

"""One credential request from asking to answer: what the client sees, and what becomes of its
answer.

Contexts ask and read here, the credential processor takes the user's answer here. The credential
manager does more: it also loads, renews and keeps credentials.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ostinato._log import get_logger
from ostinato.auth._consent_uri import add_consent_request, derive_verifier, find_endpoint
from ostinato.auth._credential_context import StateLike
from ostinato.auth._scheme_discovery import complete_scheme, needs_discovery
from ostinato.auth.auth_credential import AuthCredential, OAuth2Auth
from ostinato.auth.auth_schemes import SecurityBase, SecuritySchemeType
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.credential_service.session_state_credential_service import read_credential
from ostinato.auth.exchanger.base_credential_exchanger import CredentialExchangeError
from ostinato.auth.exchanger.oauth2_credential_exchanger import OAuth2CredentialExchanger
from ostinato.auth.oauth2_credential_util import AUTHLIB_AVAILABLE as AUTHLIB_AVAILABLE
from ostinato.auth.oauth2_credential_util import token_endpoint
from ostinato.errors import InputValidationError

_log = get_logger(__name__)

_WITH_CONSENT = (SecuritySchemeType.oauth2, SecuritySchemeType.openIdConnect)

T = TypeVar("T")


class AuthHandler:
    """Handles the request and the answer for one `AuthConfig` (Spec 1 §10, "Authentication Flow").

    Args:
        auth_config: the request. Where it holds the client's secret, a code can be exchanged.
    """

    def __init__(self, auth_config: AuthConfig) -> None:
        self.auth_config = auth_config

    # Asking

    def generate_auth_request(self) -> AuthConfig:
        """Return the configuration to ask with; only its `public_config` may leave the process.

        For OAuth2 and OpenID Connect its `exchanged_auth_credential` holds the address where the
        user consents: the given `auth_uri`, else a new one with a fresh `state`.

        Raises:
            InputValidationError: the raw credential lacks what the scheme needs, or no user takes
                part in its flow.
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
        """Return the raw credential with `auth_uri`, `state` and, with PKCE, `code_verifier`.

        Where the scheme's endpoints have to be discovered, it blocks until they are.

        Raises:
            InputValidationError: no client, no flow with consent, no endpoint, or an unknown code
                challenge method.
        """
        raw, oauth2 = self._client()
        if not (oauth2.client_id and oauth2.client_secret):
            raise InputValidationError(
                f"{self._scheme_name} needs oauth2.client_id and oauth2.client_secret in "
                "raw_auth_credential to ask the user for consent; give both, or give "
                "oauth2.auth_uri yourself."
            )
        scheme = self.auth_config.auth_scheme
        if needs_discovery(scheme):
            scheme = _run_blocking(lambda: complete_scheme(scheme))
        endpoint, scopes = find_endpoint(scheme)
        credential = raw.model_copy(update={"oauth2": oauth2.model_copy(deep=True)})
        if credential.oauth2:
            add_consent_request(credential.oauth2, endpoint, scopes)
        return credential

    # The answer

    async def accept_answer(self, answer: AuthCredential | None, state: StateLike) -> None:
        """Keep the user's answer to this request, for this invocation only.

        Only the credential is taken from the answer: scheme, key and `state` stay those of the
        request, so an answer cannot have a secret sent elsewhere or overwrite another credential.
        An answer whose code is refused is dropped, so that the tool asks again.

        Raises:
            InputValidationError: an OAuth2 answer without anything to use.
            CredentialExchangeError: the provider failed, or the client is set up wrongly.
        """
        asked = self.auth_config.exchanged_auth_credential
        given = answer and answer.model_copy(deep=True)
        if given and given.oauth2 and asked and asked.oauth2:
            given.oauth2.state = asked.oauth2.state
            given.oauth2.code_verifier = asked.oauth2.code_verifier or given.oauth2.code_verifier
        answered = AuthHandler(
            self.auth_config.model_copy(update={"exchanged_auth_credential": given})
        )
        try:
            await answered.parse_and_store_auth_response(state)
        except CredentialExchangeError as error:
            self._let_ask_again(error)

    async def parse_and_store_auth_response(self, state: StateLike) -> None:
        """Keep the client's answer under `temp:` + credential key, for this invocation only.

        A code is exchanged first. If the client's secret is not known here, the code is kept; the
        reader of the answer exchanges it with the tool's own configuration.

        Raises:
            InputValidationError: an OAuth2 answer without anything to use.
            CredentialExchangeError: the code could not be exchanged.
        """
        answer = self.auth_config.exchanged_auth_credential
        if self._asks_for_consent:
            filled = self._restore_secrets(answer)
            known = filled and filled.oauth2 and filled.oauth2.client_secret
            answer = await self._exchange_answer() if known or not _waits(filled) else filled
        state[self._state_key] = answer

    def get_auth_response(self, state: StateLike) -> AuthCredential | None:
        """Return the answer that was kept in this invocation, or None.

        It may still hold a code instead of a token, see `take_auth_response`.

        Raises:
            InputValidationError: something else is stored there.
        """
        return self._restore_secrets(read_credential(state, self._state_key))

    def take_auth_response(self, state: StateLike, keep_in: StateLike) -> AuthCredential | None:
        """Return the answer in the form a tool uses, and exchange its code if that is still open.

        That is so only where the process was started anew between request and answer; the call
        then blocks until the provider has answered.

        Args:
            state: where the answer is.
            keep_in: where its token is kept for the rest of the invocation.

        Returns:
            None if there is no answer, or if its code was refused, so that the tool asks again.

        Raises:
            CredentialExchangeError: the provider failed, or the client is set up wrongly.
        """
        answer = self.get_auth_response(state)
        if not (self._asks_for_consent and _waits(answer)):
            return answer
        handler = AuthHandler(
            self.auth_config.model_copy(update={"exchanged_auth_credential": answer})
        )
        try:
            answer = _run_blocking(handler._exchange_answer)
        except CredentialExchangeError as error:
            self._let_ask_again(error)
            answer = None
        keep_in[self._state_key] = answer
        return answer

    async def exchange_auth_token(self) -> AuthCredential:
        """Return the answered credential with its token; unchanged if there is nothing to exchange.

        That is so where it holds no code or has its token, and where the scheme has no token
        endpoint.

        Raises:
            InputValidationError: there is no answer.
            CredentialExchangeError: the code could not be exchanged.
            MissingExtraError: there is a code, and the extra `auth` is not installed.
        """
        answer = self.auth_config.exchanged_auth_credential
        if answer is not None:
            if not _waits(answer):
                return answer
            if token_endpoint(await complete_scheme(self.auth_config.auth_scheme)) is None:
                return answer
        return await self._exchange_answer()

    async def _exchange_answer(self) -> AuthCredential:
        """Return the answered credential with its token.

        Raises:
            InputValidationError: the answer has neither a token nor a code.
            CredentialExchangeError: the code could not be exchanged.
            MissingExtraError: there is a code, and the extra `auth` is not installed.
        """
        answer = self._restore_secrets(self.auth_config.exchanged_auth_credential)
        if answer and answer.oauth2 and answer.oauth2.access_token:
            return answer
        if answer is None or not _waits(answer):
            raise InputValidationError(
                f"The answer for credential {self.auth_config.credential_key!r} "
                f"({self._scheme_name}) holds neither a token nor a code. Answer with the address "
                "that the browser was sent back to as oauth2.auth_response_uri, or with "
                "oauth2.access_token, in exchangedAuthCredential."
            )
        scheme = await complete_scheme(self.auth_config.auth_scheme)
        return (await OAuth2CredentialExchanger().exchange(answer, scheme)).credential

    def _let_ask_again(self, error: CredentialExchangeError) -> None:
        if not error.ask_again:
            raise error
        _log.warning("Credential %r: %s", self.auth_config.credential_key, error)

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

    def _restore_secrets(self, answer: AuthCredential | None) -> AuthCredential | None:
        """Return a copy of an answer with what the client was not told: its secret and verifier."""
        raw = self.auth_config.raw_auth_credential
        known = raw.oauth2 if raw else None
        if known is None or answer is None or answer.oauth2 is None:
            return answer
        whole = answer.model_copy(deep=True)
        if whole.oauth2 is not None:
            fill_in(whole.oauth2, known)
        return whole


def fill_in(given: OAuth2Auth, known: OAuth2Auth) -> None:
    """Write what the developer configured into a credential that lacks it, in place."""
    given.client_id = given.client_id or known.client_id
    if given.client_id != known.client_id:
        return  # Another client's secret is not for this one.
    for name in ("client_secret", "redirect_uri", "audience", "code_challenge_method"):
        if getattr(given, name) is None and getattr(known, name) is not None:
            setattr(given, name, getattr(known, name))
    if "token_endpoint_auth_method" not in given.model_fields_set:
        given.token_endpoint_auth_method = known.token_endpoint_auth_method
    waits = given.access_token is None and given.code_verifier is None
    if waits and given.code_challenge_method and given.client_secret:
        given.code_verifier = known.code_verifier or derive_verifier(given)


def _waits(answer: AuthCredential | None) -> bool:
    """Return whether an answer holds a code and no token yet."""
    oauth2 = answer.oauth2 if answer else None
    return bool(
        oauth2 and not oauth2.access_token and (oauth2.auth_code or oauth2.auth_response_uri)
    )


def _run_blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end in an event loop of its own.

    google-adk's interface is not asynchronous here. In a thread whose event loop is running, this
    blocks the loop until the work is done.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()

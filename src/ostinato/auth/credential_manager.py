"""CredentialManager: loads, exchanges, refreshes and keeps the credential that a tool needs.

Tools and the flow ask the user for what it cannot get by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Hashable
from typing import ClassVar
from weakref import WeakValueDictionary

from ostinato._aclosing import Aclosing
from ostinato._log import get_logger
from ostinato.auth._credential_context import CredentialContext
from ostinato.auth._scheme_discovery import complete_scheme, needs_discovery
from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes
from ostinato.auth.auth_handler import AuthHandler, fill_in
from ostinato.auth.auth_provider_registry import AuthProviderRegistry
from ostinato.auth.auth_schemes import AuthScheme, CustomAuthScheme, SecuritySchemeType
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.base_auth_provider import BaseAuthProvider
from ostinato.auth.exchanger.base_credential_exchanger import (
    BaseCredentialExchanger,
    CredentialExchangeError,
)
from ostinato.auth.exchanger.credential_exchanger_registry import CredentialExchangerRegistry
from ostinato.auth.exchanger.oauth2_credential_exchanger import (
    OAuth2CredentialExchanger,
    grant_of,
)
from ostinato.auth.exchanger.service_account_credential_exchanger import (
    ServiceAccountCredentialExchanger,
)
from ostinato.auth.oauth2_credential_util import has_expired
from ostinato.auth.refresher.base_credential_refresher import CredentialRefresherError
from ostinato.auth.refresher.credential_refresher_registry import CredentialRefresherRegistry
from ostinato.auth.refresher.oauth2_credential_refresher import OAuth2CredentialRefresher
from ostinato.errors import AgentConfigError

_log = get_logger(__name__)

_OAUTH2 = (AuthCredentialTypes.OAUTH2, AuthCredentialTypes.OPEN_ID_CONNECT)
_READY_FOR_USE = (AuthCredentialTypes.API_KEY, AuthCredentialTypes.HTTP)
# What a stored credential does not need: the tool's configuration knows it, or it is spent.
_NOT_KEPT = ("client_secret", "code_verifier", "auth_code", "auth_response_uri")
# By event loop too: a lock belongs to the loop that it was first waited for in.
_locks: WeakValueDictionary[tuple[int, Hashable], asyncio.Lock] = WeakValueDictionary()


class CredentialManager:
    """Gets the credential of one `AuthConfig` (Spec 1 §10, "Authentication Flow").

    An API key or HTTP credential of the developer is ready for use. Any other is looked up in this
    run, in the credential service, in the user's answer, and last in the configuration if no user
    has to consent (client credentials, service accounts). The credential is then exchanged or
    refreshed if necessary, and kept in the credential service if it is new.

    Args:
        auth_config: what the tool needs.

    Raises:
        AgentConfigError: the credential only names a secret kept elsewhere, and no provider serves
            its scheme.
    """

    _providers: ClassVar[AuthProviderRegistry] = AuthProviderRegistry()

    def __init__(self, auth_config: AuthConfig) -> None:
        _check_reference(auth_config)
        self._auth_config = auth_config
        self._exchangers = CredentialExchangerRegistry()
        self._refreshers = CredentialRefresherRegistry()
        for kind in _OAUTH2:
            self._exchangers.register(kind, OAuth2CredentialExchanger())
            self._refreshers.register(kind, OAuth2CredentialRefresher())
        self._exchangers.register(
            AuthCredentialTypes.SERVICE_ACCOUNT, ServiceAccountCredentialExchanger()
        )

    @classmethod
    def register_auth_provider(cls, provider: BaseAuthProvider) -> None:
        """Ask a provider for its schemes from now on, in this whole process.

        Raises:
            AgentConfigError: it serves no scheme, or one that has another provider already.
        """
        kinds = provider.supported_auth_schemes
        if not kinds:
            raise AgentConfigError(
                f"{type(provider).__name__} names no scheme that it serves. Return the scheme's "
                "class from its property supported_auth_schemes."
            )
        for kind in kinds:
            other = cls._providers.get_provider(kind)
            if other is not None and other is not provider:
                raise AgentConfigError(
                    f"Scheme {kind.__name__} is served by {type(other).__name__} already; one "
                    "scheme has one provider."
                )
        for kind in kinds:
            cls._providers.register(kind, provider)

    def register_credential_exchanger(
        self,
        credential_type: AuthCredentialTypes,
        exchanger_instance: BaseCredentialExchanger,
    ) -> None:
        """Use an exchanger for a type of credential, in place of the one there is."""
        self._exchangers.register(credential_type, exchanger_instance)

    async def request_credential(self, context: CredentialContext) -> None:
        """Ask the user, through the tool call whose context this is."""
        context.request_credential(await self._complete_config())

    async def get_auth_credential(self, context: CredentialContext) -> AuthCredential | None:
        """Return the credential, ready for use, or None if the user has to be asked for it.

        Args:
            context: whose credential it is, and the run that may know it already.

        Raises:
            AgentConfigError: the configuration cannot work.
            CredentialExchangeError, CredentialRefresherError: the provider failed, or turned down
                the client itself.
            MissingExtraError: there is something to exchange, and the extra `auth` is missing.
        """
        config = await self._complete_config()
        scheme = config.auth_scheme
        if isinstance(scheme, CustomAuthScheme):
            return await self._ask_provider(config, scheme, context)
        _check_config(config)
        raw = config.raw_auth_credential
        if raw is not None and raw.auth_type in _READY_FOR_USE:
            return raw
        session = context.session
        owner = session.app_name, session.user_id, config.credential_key
        async with (
            _lock_credential(owner),
            Aclosing(self._find_candidates(config, context)) as candidates,
        ):
            async for candidate, is_new in candidates:
                ready = await self._make_ready(candidate, config)
                if ready is not None:
                    if is_new or ready is not candidate:
                        await _save_credential(config, ready, context)
                    run = context.get_invocation_context()
                    run.credential_by_key[config.credential_key or ""] = ready
                    return ready
        return None

    async def _complete_config(self) -> AuthConfig:
        """Return the configuration with discovered endpoints."""
        scheme = self._auth_config.auth_scheme
        if needs_discovery(scheme):
            found = await complete_scheme(scheme)
            if found is not scheme:
                self._auth_config = self._auth_config.model_copy(update={"auth_scheme": found})
        return self._auth_config

    async def _ask_provider(
        self, config: AuthConfig, scheme: CustomAuthScheme, context: CredentialContext
    ) -> AuthCredential | None:
        scheme = _restore_scheme_class(scheme, self._providers.scheme_types())
        provider = self._providers.get_provider(scheme)
        if provider is None:
            raise AgentConfigError(
                f"No provider serves the scheme {scheme.type_!r} ({type(scheme).__name__}). Make a "
                "BaseAuthProvider for it and call CredentialManager.register_auth_provider."
            )
        answer = AuthHandler(config).get_auth_response(context.state)
        if answer is not None:
            return answer
        return await provider.get_auth_credential(
            config.model_copy(update={"auth_scheme": scheme}), context
        )

    async def _find_candidates(
        self, config: AuthConfig, context: CredentialContext
    ) -> AsyncGenerator[tuple[AuthCredential, bool]]:
        """Credentials to try, best first, and whether each is new to the credential service."""
        run = context.get_invocation_context()
        known = run.credential_by_key.get(config.credential_key or "")
        if known is not None:
            yield known, False
        if run.credential_service is not None:
            stored = await context.load_credential(config)
            if stored is not None:
                yield _with_client(stored, config), False
        answer = AuthHandler(config).get_auth_response(context.state)
        if answer is not None:
            yield answer, True
        for given in (config.raw_auth_credential, config.exchanged_auth_credential):
            if given is not None and (_holds_token(given) or self._needs_no_user(given, config)):
                yield _with_client(given, config), False

    def _needs_no_user(self, raw: AuthCredential, config: AuthConfig) -> bool:
        exchanger = self._exchangers.get_exchanger(raw.auth_type)
        if exchanger is None:
            return False
        by_client = raw.auth_type in _OAUTH2 and grant_of(config.auth_scheme)
        return exchanger.without_user or by_client == "client_credentials"

    async def _make_ready(
        self, credential: AuthCredential, config: AuthConfig
    ) -> AuthCredential | None:
        """Return the credential exchanged or refreshed, or None if a user has to renew it."""
        scheme = config.auth_scheme
        try:
            exchanger = self._exchangers.get_exchanger(credential.auth_type)
            if exchanger is not None:
                exchanged = await exchanger.exchange(credential, scheme)
                if exchanged.was_exchanged:
                    return exchanged.credential
            refresher = self._refreshers.get_refresher(credential.auth_type)
            if refresher is not None and await refresher.is_refresh_needed(credential, scheme):
                renewed = await refresher.refresh(credential, scheme)
                if renewed is not credential:
                    return renewed  # However short it lives: some servers grant a minute.
        except (CredentialExchangeError, CredentialRefresherError) as error:
            if not error.ask_again:
                raise
            _log.warning("Credential %r: %s", config.credential_key, error)
            return None
        usable = credential.auth_type not in _OAUTH2 or _holds_token(credential)
        raw = config.raw_auth_credential
        # A user is not asked before the token is dead; a new one without a user costs little.
        alone = raw is not None and self._needs_no_user(raw, config)
        dead = has_expired(credential) if alone else has_expired(credential, leeway=0)
        return credential if usable and not dead else None


def _check_reference(config: AuthConfig) -> None:
    """Refuse a credential that only names a secret, which nothing here would look up."""
    raw = config.raw_auth_credential
    if raw is None or raw.resource_ref is None or isinstance(config.auth_scheme, CustomAuthScheme):
        return
    if not (raw.api_key or raw.http or raw.service_account or raw.oauth2):
        raise AgentConfigError(
            f"Credential {config.credential_key!r} has a resource_ref and nothing else, but "
            "Ostinato looks up no secrets. Read the secret yourself and give it in the "
            "credential, or use a CustomAuthScheme with a BaseAuthProvider that looks it up."
        )


def _check_config(config: AuthConfig) -> None:
    """Refuse what cannot work whatever the user answers."""
    raw, scheme = config.raw_auth_credential, config.auth_scheme
    with_client = (SecuritySchemeType.oauth2, SecuritySchemeType.openIdConnect)
    if raw is None:
        if scheme.type_ in with_client:
            raise AgentConfigError(
                f"Credential {config.credential_key!r}: a scheme of type "
                f"{_scheme_name(scheme)} needs a raw_auth_credential with the client's id and "
                "secret in its field oauth2."
            )
        return
    if raw.auth_type in _OAUTH2 and raw.oauth2 is None:
        raise AgentConfigError(
            f"Credential {config.credential_key!r}: a raw_auth_credential of type "
            f"{raw.auth_type.value} needs its field oauth2, with the client's id and secret."
        )
    if raw.auth_type is AuthCredentialTypes.SERVICE_ACCOUNT and raw.service_account is None:
        raise AgentConfigError(
            f"Credential {config.credential_key!r}: a raw_auth_credential of type serviceAccount "
            "needs its field service_account, with the account's key."
        )
    if needs_discovery(scheme):
        raise AgentConfigError(
            f"Credential {config.credential_key!r}: the endpoints of its scheme "
            f"({_scheme_name(scheme)}) could not be discovered. Check the scheme's "
            "address, or give the endpoints."
        )


def _scheme_name(scheme: AuthScheme) -> str:
    return scheme.type_ if isinstance(scheme.type_, str) else scheme.type_.value


def _holds_token(credential: AuthCredential) -> bool:
    oauth2 = credential.oauth2
    return bool(oauth2 and (oauth2.access_token or oauth2.id_token))


def _with_client(credential: AuthCredential, config: AuthConfig) -> AuthCredential:
    """Return a copy with the client's id and secret, which a stored credential lacks."""
    raw = config.raw_auth_credential
    if raw is None or raw.oauth2 is None or credential.oauth2 is None:
        return credential
    whole = credential.model_copy(deep=True)
    if whole.oauth2 is not None:
        fill_in(whole.oauth2, raw.oauth2)
    return whole


async def _save_credential(
    config: AuthConfig, ready: AuthCredential, context: CredentialContext
) -> None:
    """Save a credential, without what its configuration knows, where a service keeps them."""
    if context.get_invocation_context().credential_service is None:
        return
    stored = ready.model_copy(deep=True)
    if stored.oauth2 is not None:
        for name in _NOT_KEPT:
            setattr(stored.oauth2, name, None)
    await context.save_credential(config.model_copy(update={"exchanged_auth_credential": stored}))


def _restore_scheme_class(
    scheme: CustomAuthScheme, kinds: list[type[AuthScheme]]
) -> CustomAuthScheme:
    """Return a scheme whose class JSON lost as the registered class with the same `type`."""
    if type(scheme) is not CustomAuthScheme:
        return scheme
    for kind in kinds:
        if issubclass(kind, CustomAuthScheme):
            default = kind.model_fields["type_"].default
            if default == scheme.type_:
                return kind.model_validate(scheme.model_dump(by_alias=True))
    return scheme


def _lock_credential(owner: Hashable) -> asyncio.Lock:
    """Return the lock of a credential in the running event loop; it lives while a task holds it."""
    place = id(asyncio.get_running_loop()), owner
    lock = _locks.get(place)
    if lock is None:
        lock = _locks[place] = asyncio.Lock()
    return lock

"""The callers of an MCP server: whose connection they use, and the headers of their requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ...auth.auth_credential import AuthCredential, AuthCredentialTypes
from ...auth.credential_headers import credential_headers
from ..header_provider import ask_header_provider

if TYPE_CHECKING:
    from ...auth.auth_tool import AuthConfig
    from ...context.readonly import ReadonlyContext

HeaderProvider: TypeAlias = (
    "Callable[[ReadonlyContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]"
)
IdentityProvider: TypeAlias = "Callable[[ReadonlyContext], str]"

_READY_FOR_USE = (AuthCredentialTypes.API_KEY, AuthCredentialTypes.HTTP)


class Callers:
    """Finds identity and headers of a toolset's callers.

    Args:
      auth_config: the credential that requests need, or None.
      header_provider: returns further headers for a context, plain or async, or None.
      identity: returns whose connection a context uses; by default the user's if requests have
        headers of their own, and one for all otherwise.
    """

    def __init__(
        self,
        auth_config: AuthConfig | None = None,
        header_provider: HeaderProvider | None = None,
        identity: IdentityProvider | None = None,
    ) -> None:
        self.auth_config = auth_config
        self._header_provider = header_provider
        self._identity = identity

    def identify(self, context: ReadonlyContext | None) -> str:
        """Return the identity that a context's connection belongs to."""
        if context is None:
            return ""
        if self._identity is not None:
            return self._identity(context)
        if self.auth_config is None and self._header_provider is None:
            return ""
        return f"{context.app_name}/{context.user_id}"

    async def make_headers(
        self, context: ReadonlyContext | None, credential: AuthCredential | None = None
    ) -> dict[str, str]:
        """Return the headers of a request; those of the credential replace the provider's.

        Args:
          context: the caller's, or None outside of a run.
          credential: ready for use; None looks it up in the context and the configuration.

        Raises:
          AgentConfigError: the provider returns no mapping of texts, or no header can carry the
            credential.
        """
        headers: dict[str, str] = {}
        if self._header_provider is not None and context is not None:
            headers |= await ask_header_provider(self._header_provider, context)
        config = self.auth_config
        if config is None:
            return headers
        credential = credential or self._find_credential(config, context)
        if credential is None:
            return headers
        own = credential_headers(credential, config.auth_scheme)
        replaced = {name.lower() for name in own}
        return {k: v for k, v in headers.items() if k.lower() not in replaced} | own

    def _find_credential(
        self, config: AuthConfig, context: ReadonlyContext | None
    ) -> AuthCredential | None:
        """Return the credential of a run, else the configured one if no user has to consent."""
        if context is not None:
            found = context.get_credential(config.credential_key or "")
            if found is not None:
                return found
        if config.exchanged_auth_credential is not None:
            return config.exchanged_auth_credential
        raw = config.raw_auth_credential
        return raw if raw is not None and raw.auth_type in _READY_FOR_USE else None

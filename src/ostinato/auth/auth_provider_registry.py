"""AuthProviderRegistry: the providers of credentials by class of scheme."""

from __future__ import annotations

from ostinato.auth.auth_schemes import AuthScheme
from ostinato.auth.base_auth_provider import BaseAuthProvider


class AuthProviderRegistry:
    """Providers by class of scheme, at most one each; a subclass of a scheme has its own."""

    def __init__(self) -> None:
        self._providers: dict[type[AuthScheme], BaseAuthProvider] = {}

    def register(
        self, auth_scheme_type: type[AuthScheme], provider_instance: BaseAuthProvider
    ) -> None:
        """Ask a provider for a class of schemes from now on, in place of an earlier one."""
        self._providers[auth_scheme_type] = provider_instance

    def get_provider(self, auth_scheme: AuthScheme | type[AuthScheme]) -> BaseAuthProvider | None:
        """Return the provider for a scheme or a class of schemes, or None."""
        kind = auth_scheme if isinstance(auth_scheme, type) else type(auth_scheme)
        return self._providers.get(kind)

    def scheme_types(self) -> list[type[AuthScheme]]:
        """Return the classes of schemes that have a provider."""
        return list(self._providers)

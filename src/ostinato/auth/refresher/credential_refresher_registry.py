"""Which refresher is asked for which type of credential. Each credential manager has its own."""

from __future__ import annotations

from ostinato.auth.auth_credential import AuthCredentialTypes
from ostinato.auth.refresher.base_credential_refresher import BaseCredentialRefresher


class CredentialRefresherRegistry:
    """Refreshers by type of credential, at most one each."""

    def __init__(self) -> None:
        self._refreshers: dict[AuthCredentialTypes, BaseCredentialRefresher] = {}

    def register(
        self, credential_type: AuthCredentialTypes, refresher_instance: BaseCredentialRefresher
    ) -> None:
        """Use a refresher for a type from now on, in place of an earlier one."""
        self._refreshers[credential_type] = refresher_instance

    def get_refresher(self, credential_type: AuthCredentialTypes) -> BaseCredentialRefresher | None:
        """Return the refresher for a type, or None if such credentials do not expire."""
        return self._refreshers.get(credential_type)

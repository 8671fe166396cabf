"""Which exchanger is asked for which type of credential. Each credential manager has its own."""

from __future__ import annotations

from ostinato.auth.auth_credential import AuthCredentialTypes
from ostinato.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger


class CredentialExchangerRegistry:
    """Exchangers by type of credential, at most one each."""

    def __init__(self) -> None:
        self._exchangers: dict[AuthCredentialTypes, BaseCredentialExchanger] = {}

    def register(
        self, credential_type: AuthCredentialTypes, exchanger_instance: BaseCredentialExchanger
    ) -> None:
        """Use an exchanger for a type from now on, in place of an earlier one."""
        self._exchangers[credential_type] = exchanger_instance

    def get_exchanger(self, credential_type: AuthCredentialTypes) -> BaseCredentialExchanger | None:
        """Return the exchanger for a type, or None if such credentials need no exchange."""
        return self._exchangers.get(credential_type)

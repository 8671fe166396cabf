"""Exchangers: from what a user or developer gave to what a service takes."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.exchanger.base_credential_exchanger import (
        BaseCredentialExchanger as BaseCredentialExchanger,
    )

__getattr__, __dir__, __all__ = attach(__name__)

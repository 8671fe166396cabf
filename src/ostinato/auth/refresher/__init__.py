"""Refreshers: from a credential that has expired to a fresh one, without the user."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.refresher.base_credential_refresher import (
        BaseCredentialRefresher as BaseCredentialRefresher,
    )

__getattr__, __dir__, __all__ = attach(__name__)

"""Face of the exchanger that chooses another."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.credential_exchangers import (
        AutoAuthCredentialExchanger as AutoAuthCredentialExchanger,
    )

__getattr__, __dir__, __all__ = attach(__name__)

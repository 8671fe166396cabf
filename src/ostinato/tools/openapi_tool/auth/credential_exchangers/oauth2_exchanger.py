"""Face of the exchanger of OAuth2 credentials."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.credential_exchangers import (
        OAuth2CredentialExchanger as OAuth2CredentialExchanger,
    )

__getattr__, __dir__, __all__ = attach(__name__)

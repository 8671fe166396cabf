"""Face of the exchanger of service accounts."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.credential_exchangers import (
        AuthCredentialMissingError as AuthCredentialMissingError,
    )
    from ostinato.tools.openapi.credential_exchangers import (
        ServiceAccountCredentialExchanger as ServiceAccountCredentialExchanger,
    )

__getattr__, __dir__, __all__ = attach(__name__)

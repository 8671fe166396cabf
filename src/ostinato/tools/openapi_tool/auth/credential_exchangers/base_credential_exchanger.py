"""Face of the base of exchangers."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.credential_exchangers import (
        AuthCredentialMissingError as AuthCredentialMissingError,
    )
    from ostinato.tools.openapi.credential_exchangers import (
        BaseAuthCredentialExchanger as BaseAuthCredentialExchanger,
    )

__getattr__, __dir__, __all__ = attach(__name__)

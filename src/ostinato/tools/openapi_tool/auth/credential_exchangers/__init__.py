"""Face of the blocking exchangers of credentials."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.credential_exchangers import (
        AutoAuthCredentialExchanger as AutoAuthCredentialExchanger,
    )
    from ostinato.tools.openapi.credential_exchangers import (
        BaseAuthCredentialExchanger as BaseAuthCredentialExchanger,
    )
    from ostinato.tools.openapi.credential_exchangers import (
        OAuth2CredentialExchanger as OAuth2CredentialExchanger,
    )
    from ostinato.tools.openapi.credential_exchangers import (
        ServiceAccountCredentialExchanger as ServiceAccountCredentialExchanger,
    )

__getattr__, __dir__, __all__ = attach(__name__)

"""Where credentials are kept between invocations: a port and two keepers."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.credential_service.base_credential_service import (
        BaseCredentialService as BaseCredentialService,
    )
    from ostinato.auth.credential_service.in_memory_credential_service import (
        InMemoryCredentialService as InMemoryCredentialService,
    )
    from ostinato.auth.credential_service.session_state_credential_service import (
        SessionStateCredentialService as SessionStateCredentialService,
    )

__getattr__, __dir__, __all__ = attach(__name__)

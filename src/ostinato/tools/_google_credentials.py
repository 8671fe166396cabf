"""Face: the credentials of Google's tools, at the path programs import them from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.google.credentials import (
        BaseGoogleCredentialsConfig as BaseGoogleCredentialsConfig,
    )
    from ostinato.tools.google.credentials import (
        GoogleCredentialsManager as GoogleCredentialsManager,
    )

__getattr__, __dir__, __all__ = attach(__name__)

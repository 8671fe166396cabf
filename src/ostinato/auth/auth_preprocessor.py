"""Face: the credential processor at its other path."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.flows.llm_flows.auth_preprocessor import (
        TOOLSET_AUTH_CREDENTIAL_ID_PREFIX as TOOLSET_AUTH_CREDENTIAL_ID_PREFIX,
    )
    from ostinato.flows.llm_flows.auth_preprocessor import request_processor as request_processor
    from ostinato.flows.llm_flows.functions import (
        REQUEST_EUC_FUNCTION_CALL_NAME as REQUEST_EUC_FUNCTION_CALL_NAME,
    )

__getattr__, __dir__, __all__ = attach(__name__)

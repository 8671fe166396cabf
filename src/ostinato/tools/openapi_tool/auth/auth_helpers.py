"""Face of the makers of security schemes and credentials."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.auth_helpers import INTERNAL_AUTH_PREFIX as INTERNAL_AUTH_PREFIX
    from ostinato.tools.openapi.auth_helpers import OpenIdConfig as OpenIdConfig
    from ostinato.tools.openapi.auth_helpers import credential_to_param as credential_to_param
    from ostinato.tools.openapi.auth_helpers import dict_to_auth_scheme as dict_to_auth_scheme
    from ostinato.tools.openapi.auth_helpers import (
        openid_dict_to_scheme_credential as openid_dict_to_scheme_credential,
    )
    from ostinato.tools.openapi.auth_helpers import (
        openid_url_to_scheme_credential as openid_url_to_scheme_credential,
    )
    from ostinato.tools.openapi.auth_helpers import (
        service_account_dict_to_scheme_credential as service_account_dict_to_scheme_credential,
    )
    from ostinato.tools.openapi.auth_helpers import (
        service_account_scheme_credential as service_account_scheme_credential,
    )
    from ostinato.tools.openapi.auth_helpers import (
        token_to_scheme_credential as token_to_scheme_credential,
    )

__getattr__, __dir__, __all__ = attach(__name__)

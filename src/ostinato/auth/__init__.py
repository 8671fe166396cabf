"""Credentials: the records that travel, how they are asked for, and where they are kept."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.auth_credential import (
        AuthCredential,
        AuthCredentialTypes,
        HttpAuth,
        HttpCredentials,
        OAuth2Auth,
        ServiceAccount,
        ServiceAccountCredential,
    )
    from ostinato.auth.auth_handler import AuthHandler
    from ostinato.auth.auth_schemes import (
        AuthScheme,
        AuthSchemeType,
        CustomAuthScheme,
        ExtendedOAuth2,
        OAuthGrantType,
        OpenIdConnectWithConfig,
    )
    from ostinato.auth.auth_tool import AuthConfig, AuthToolArguments
    from ostinato.auth.tool_confirmation import ToolConfirmation

__getattr__, __dir__, __all__ = attach(__name__)

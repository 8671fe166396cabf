"""Credentials: the records that travel, how they are asked for, and where they are kept."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.auth_credential import AuthCredential as AuthCredential
    from ostinato.auth.auth_credential import AuthCredentialTypes as AuthCredentialTypes
    from ostinato.auth.auth_credential import HttpAuth as HttpAuth
    from ostinato.auth.auth_credential import HttpCredentials as HttpCredentials
    from ostinato.auth.auth_credential import OAuth2Auth as OAuth2Auth
    from ostinato.auth.auth_credential import ServiceAccount as ServiceAccount
    from ostinato.auth.auth_credential import ServiceAccountCredential as ServiceAccountCredential
    from ostinato.auth.auth_handler import AuthHandler as AuthHandler
    from ostinato.auth.auth_schemes import AuthScheme as AuthScheme
    from ostinato.auth.auth_schemes import AuthSchemeType as AuthSchemeType
    from ostinato.auth.auth_schemes import CustomAuthScheme as CustomAuthScheme
    from ostinato.auth.auth_schemes import ExtendedOAuth2 as ExtendedOAuth2
    from ostinato.auth.auth_schemes import OAuthGrantType as OAuthGrantType
    from ostinato.auth.auth_schemes import OpenIdConnectWithConfig as OpenIdConnectWithConfig
    from ostinato.auth.auth_tool import AuthConfig as AuthConfig
    from ostinato.auth.auth_tool import AuthToolArguments as AuthToolArguments
    from ostinato.auth.base_auth_provider import BaseAuthProvider as BaseAuthProvider
    from ostinato.auth.credential_manager import CredentialManager as CredentialManager
    from ostinato.auth.tool_confirmation import ToolConfirmation as ToolConfirmation

__getattr__, __dir__, __all__ = attach(__name__)

"""Credentials of toolsets: resolved before their tools are listed (Spec 1 §10, FEATURES row 95)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from ... import auth
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...tools.base_toolset import BaseToolset
from ._requests import build_auth_request_event
from .auth_preprocessor import TOOLSET_AUTH_CREDENTIAL_ID_PREFIX

if TYPE_CHECKING:
    from ...auth.auth_credential import AuthCredential
    from ...auth.auth_tool import AuthConfig


async def resolve_toolset_auth(
    ctx: InvocationContext, tools: Sequence[Any]
) -> AsyncGenerator[Event, None]:
    """Find the credentials the toolsets need; ask the user for missing ones and end the run.

    A credential that was found is in `ctx.credential_by_key` under its config's key.
    """
    missing: dict[str, AuthConfig] = {}
    for toolset in tools:
        config = toolset.get_auth_config() if isinstance(toolset, BaseToolset) else None
        if config is None:
            continue
        context = Context(ctx)
        credential = await _find(config, context)
        if credential is not None:
            ctx.credential_by_key[config.credential_key or ""] = credential
        else:
            call_id = TOOLSET_AUTH_CREDENTIAL_ID_PREFIX + type(toolset).__name__
            missing[call_id] = auth.AuthHandler(config).generate_auth_request()
    if missing:
        yield build_auth_request_event(ctx, missing, role="model")
        ctx.end_invocation = True


async def _find(config: AuthConfig, context: Context) -> AuthCredential | None:
    """Look for a credential: given in this run, kept by the service, or ready in the config."""
    answered = context.get_auth_response(config)
    if answered is not None:
        return answered
    if context.get_invocation_context().credential_service is not None:
        kept = await context.load_credential(config)
        if kept is not None:
            return kept
    return config.exchanged_auth_credential

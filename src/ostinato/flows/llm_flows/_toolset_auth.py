"""Credentials of toolsets: resolved before their tools are listed (Spec 1 §10, FEATURES row 95)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from ... import auth
from ...auth.asked import remember_request
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...events.event import Event
from ._requests import build_auth_request_event
from ._tool_bundle import toolsets_of
from .auth_preprocessor import TOOLSET_AUTH_CREDENTIAL_ID_PREFIX

if TYPE_CHECKING:
    from ...auth.auth_tool import AuthConfig


async def resolve_toolset_auth(
    ctx: InvocationContext, tools: Sequence[Any]
) -> AsyncGenerator[Event, None]:
    """Find the credentials the toolsets need; ask the user for missing ones and end the run.

    A credential that was found is in `ctx.credential_by_key` under its config's key.
    """
    missing: dict[str, AuthConfig] = {}
    for toolset in toolsets_of(tools):
        config = toolset.get_auth_config()
        if config is None:
            continue
        credential = await auth.CredentialManager(config).get_auth_credential(Context(ctx))
        if credential is not None:
            ctx.credential_by_key[config.credential_key or ""] = credential
        else:
            call_id = TOOLSET_AUTH_CREDENTIAL_ID_PREFIX + type(toolset).__name__
            missing[call_id] = auth.AuthHandler(config).generate_auth_request()
            remember_request(ctx.session, call_id, missing[call_id])
    if missing:
        yield build_auth_request_event(ctx, missing, role="model")
        ctx.end_invocation = True

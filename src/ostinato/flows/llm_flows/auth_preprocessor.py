"""The credential processor, and the credentials of toolsets.

It stores the user's credentials and runs the calls that waited for them.
`ostinato.auth.auth_preprocessor` is its other path (FEATURES A.27 X28).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ... import auth, types
from ..._aclosing import Aclosing
from ...auth.asked import recall_request, remember_request
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...errors import AgentConfigError, InputValidationError
from ...events.event import Event
from ...events.request_input import DECLINED
from ...models.llm_request import LlmRequest
from ...sessions.state import State
from ._base_llm_processor import BaseLlmRequestProcessor
from .resume.user_answers import has_call_answers, is_answered, read_user_answers
from .tool_calls.answered_calls import execute_answered_calls, find_confirmation
from .tool_calls.framework_calls import (
    REQUEST_EUC_FUNCTION_CALL_NAME,
    build_auth_request_event,
)
from .tool_calls.request_tools import find_answered_tools
from .tool_calls.tool_bundle import toolsets_of

if TYPE_CHECKING:
    from ...auth.auth_tool import AuthConfig

TOOLSET_AUTH_CREDENTIAL_ID_PREFIX = "_adk_toolset_auth_"
_REFUSED = "The user refused to give the credential, so the call was not run."
_TOOLSET_REFUSED = "The user refused the credential that {} needs, so the run ended."


class _AuthLlmRequestProcessor(BaseLlmRequestProcessor):
    """Processes the user's answers to `adk_request_credential` (Spec 1 §10, FEATURES row 148)."""

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Return whether the user's message answers a call."""
        return has_call_answers(invocation_context)

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Store the credentials, run the waiting calls and yield their response events."""
        ctx = invocation_context
        waiting: dict[str, dict[str, set[str]]] = {}
        for answer in read_user_answers(ctx, REQUEST_EUC_FUNCTION_CALL_NAME):
            asked = auth.AuthToolArguments.model_validate(answer.arguments)
            call_id = asked.function_call_id
            for_toolset = call_id.startswith(TOOLSET_AUTH_CREDENTIAL_ID_PREFIX)
            if is_answered(call_id, answer.after) or _is_settled(ctx, asked, answer.original):
                continue
            if answer.response == DECLINED:
                yield _make_refusal(ctx, call_id, answer.original)
                ctx.end_invocation = ctx.end_invocation or for_toolset
                continue
            await _accept_credential(ctx, call_id, asked.auth_config, answer.response)
            if for_toolset:
                continue
            record = ctx.log.find_call(call_id)
            if record is not None:
                keys = waiting.setdefault(record.id, {}).setdefault(call_id, set())
                keys.add(asked.auth_config.credential_key or "")
        if not waiting:
            return
        names = {
            name
            for record in ctx.log.records
            for call_id, name in (record.calls if record.id in waiting else ())
            if call_id in waiting[record.id]
        }
        tools = await find_answered_tools(ctx, names)
        for record in ctx.log.records:
            if record.id not in waiting:
                continue
            given = waiting[record.id]
            calls = [one for one in record.event().get_function_calls() if one.id in given]
            confirmations = {
                call_id: answer
                for call_id in given
                if (answer := find_confirmation(ctx, call_id, record)) is not None
            }
            async with Aclosing(
                execute_answered_calls(ctx, calls, tools, confirmations, given)
            ) as events:
                async for event in events:
                    if event.actions.requested_auth_configs:
                        ctx.end_invocation = True  # it asks again, so it is the user's turn
                    yield event


def _is_settled(
    ctx: InvocationContext, asked: auth.AuthToolArguments, original: types.FunctionCall | None
) -> bool:
    """Return whether an answer has nothing left to do."""
    if asked.function_call_id.startswith(TOOLSET_AUTH_CREDENTIAL_ID_PREFIX):
        # An earlier step used it; a toolset's request gets no response.
        return asked.auth_config.credential_key in ctx.credential_by_key
    return original is None  # the agent never made the call


def _make_refusal(
    ctx: InvocationContext, call_id: str, original: types.FunctionCall | None
) -> Event:
    """Return the response to a tool's call, or the error of a toolset, without its credential."""
    event = Event(invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch)
    if original is None:
        event.error_code = "CREDENTIAL_REFUSED"
        toolset = call_id.removeprefix(TOOLSET_AUTH_CREDENTIAL_ID_PREFIX)
        event.error_message = _TOOLSET_REFUSED.format(toolset)
        return event
    response = types.FunctionResponse(
        id=original.id, name=original.name, response={"error": _REFUSED}
    )
    event.content = types.Content(role="user", parts=[types.Part(function_response=response)])
    return event


async def _accept_credential(
    ctx: InvocationContext, call_id: str, asked: AuthConfig, response: Mapping[str, Any]
) -> None:
    """Store the credential of one answer for this run."""
    given = response.get("exchangedAuthCredential", response.get("exchanged_auth_credential"))
    try:
        credential = auth.AuthCredential.model_validate(given) if given is not None else None
    except ValidationError as error:
        raise InputValidationError(
            f"The answer to the request for credential {asked.credential_key!r} (call {call_id}) "
            f"holds an exchangedAuthCredential with {error.error_count()} invalid field(s). Answer "
            "with the request's authConfig and the credential filled in."
        ) from None
    request = recall_request(ctx.session, call_id) or asked
    # Credentials belong to this run only; a separate delta keeps them out of events.
    await auth.AuthHandler(request).accept_answer(credential, State(ctx.session.state, {}))


async def resolve_toolset_auth(
    ctx: InvocationContext, tools: Sequence[Any]
) -> AsyncGenerator[Event, None]:
    """Resolve the toolsets' credentials; ask the user for missing ones and end the run.

    Resolved credentials go into `ctx.credential_by_key` (Spec 1 §10, FEATURES row 95).
    """
    missing: dict[str, AuthConfig] = {}
    for toolset in toolsets_of(tools):
        config: Any = toolset.get_auth_config()  # of a mock, another mock
        if config is None:
            continue
        try:
            credential = await auth.CredentialManager(config).get_auth_credential(Context(ctx))
        except Exception as error:  # boundary: only a stand-in for a configuration is explained
            if isinstance(config, auth.AuthConfig):
                raise
            raise AgentConfigError(
                f"Agent {ctx.agent.name!r}: get_auth_config of toolset {type(toolset).__name__} "
                f"returned a {type(config).__name__}. It must return an AuthConfig or None; a mock "
                "of a toolset needs `mock.get_auth_config.return_value = None`."
            ) from error
        if credential is not None:
            ctx.credential_by_key[config.credential_key or ""] = credential
        else:
            call_id = TOOLSET_AUTH_CREDENTIAL_ID_PREFIX + type(toolset).__name__
            missing[call_id] = auth.AuthHandler(config).generate_auth_request()
            remember_request(ctx.session, call_id, missing[call_id])
    if missing:
        yield build_auth_request_event(ctx, missing, role="model")
        ctx.end_invocation = True


request_processor = _AuthLlmRequestProcessor()

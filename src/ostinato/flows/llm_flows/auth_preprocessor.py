"""The credential processor: takes the user's credentials and runs the calls that waited for them.

`ostinato.auth.auth_preprocessor` is its other path (FEATURES A.27 X28).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ... import auth
from ..._aclosing import Aclosing
from ...auth.asked import recall_request
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...errors import InputValidationError
from ...events.event import Event
from ...models.llm_request import LlmRequest
from ...sessions.state import State
from ._act import act
from ._base_llm_processor import BaseLlmRequestProcessor
from ._requests import REQUEST_EUC_FUNCTION_CALL_NAME
from ._user_answers import is_answered, message_answers, user_answers

if TYPE_CHECKING:
    from ...auth.auth_tool import AuthConfig

TOOLSET_AUTH_CREDENTIAL_ID_PREFIX = "_adk_toolset_auth_"


class _AuthLlmRequestProcessor(BaseLlmRequestProcessor):
    """Takes up the user's answers to `adk_request_credential` (Spec 1 §10, FEATURES row 148)."""

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Only where the user's message answers a call."""
        return message_answers(invocation_context)

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Store the credentials, run the waiting calls and yield their response events."""
        ctx = invocation_context
        waiting: dict[str, set[str]] = {}
        for answer in user_answers(ctx, REQUEST_EUC_FUNCTION_CALL_NAME):
            asked = auth.AuthToolArguments.model_validate(answer.arguments)
            call_id = asked.function_call_id
            if is_answered(call_id, answer.after):
                continue
            for_toolset = call_id.startswith(TOOLSET_AUTH_CREDENTIAL_ID_PREFIX)
            if for_toolset and asked.auth_config.credential_key in ctx.credential_by_key:
                continue  # taken up at an earlier step; no response marks a toolset's request
            await _take(ctx, call_id, asked.auth_config, answer.response)
            if for_toolset:
                continue
            record = ctx.log.find_call(call_id)
            if record is not None:
                waiting.setdefault(record.id, set()).add(call_id)
        if not waiting:
            return
        tools = {t.name: t for t in await ctx.agent.canonical_tools(ReadonlyContext(ctx))}
        for record in ctx.log.records:
            if record.id not in waiting:
                continue
            async with Aclosing(act(ctx, record.event(), tools, waiting[record.id])) as events:
                async for event in events:
                    if event.actions.requested_auth_configs:
                        ctx.end_invocation = True  # It asks again: the user's turn, not the model's
                    yield event


async def _take(
    ctx: InvocationContext, call_id: str, asked: AuthConfig, response: Mapping[str, Any]
) -> None:
    """Keep the credential of one answer for this run."""
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
    # Credentials live in this run only: a throw-away delta keeps them out of events.
    await auth.AuthHandler(request).accept_answer(credential, State(ctx.session.state, {}))


request_processor = _AuthLlmRequestProcessor()

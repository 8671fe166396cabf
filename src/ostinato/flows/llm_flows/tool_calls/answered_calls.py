"""Execution of calls that a user's answer lets run again, with all that was answered before.

An answer may let a call ask for something else. What the user has decided about the call is in the
log; the credentials given for it are in this process only, for as long as the call asks.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from .... import types
from ...._aclosing import Aclosing
from ....auth.asked import recall_credentials, remember_credentials
from ....context.invocation import InvocationContext
from ....events.event import Event
from ....events.request_input import TOOL_QUESTION
from ....sessions.log.call_requests import answers_about, find_edit
from ....sessions.log.confirmation_answers import read_confirmation
from ....sessions.state import State
from ....tools.base_tool import BaseTool
from .call_events import execute_calls
from .framework_calls import (
    REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
    REQUEST_INPUT_FUNCTION_CALL_NAME,
    read_question_answer,
)

if TYPE_CHECKING:
    from ....auth.tool_confirmation import ToolConfirmation
    from ....sessions.log.event_log import EventRecord


def find_confirmation(
    ctx: InvocationContext, call_id: str, source: EventRecord
) -> ToolConfirmation | None:
    """Return the user's newest answer to what a call asked; None if the user decided nothing.

    Args:
      ctx: the run.
      call_id: the call.
      source: the record that holds the call.
    """
    for answer in answers_about(ctx.log, call_id):
        if answer.source is not source:
            return None
        if answer.name == REQUEST_CONFIRMATION_FUNCTION_CALL_NAME:
            return read_confirmation(answer.response)[0]
        if answer.name == REQUEST_INPUT_FUNCTION_CALL_NAME:
            if answer.request.has_metadata(TOOL_QUESTION):
                return read_question_answer(answer.response)
    return None


async def execute_answered_calls(
    ctx: InvocationContext,
    calls: Sequence[types.FunctionCall],
    tools: Mapping[str, BaseTool],
    confirmations: Mapping[str, ToolConfirmation],
    given: Mapping[str, Collection[str]],
) -> AsyncGenerator[Event, None]:
    """Run calls that asked the user, with the arguments that the user edited last.

    Args:
      ctx: the run.
      calls: the calls; their arguments are replaced by edited ones.
      tools: tools by name.
      confirmations: the user's answers by call id.
      given: keys of the credentials that the user's message gives, by call id.

    Yields:
      As `execute_calls`.

    Raises:
      Exception: a tool's exception, after the response event was committed.
    """
    keys: dict[str, set[str]] = {}
    for call in calls:
        call_id = call.id or ""
        edited = find_edit(ctx.log, call_id)
        if edited is not None:
            call.args = edited
        keys[call_id] = {*given.get(call_id, ()), *_restore_credentials(ctx, call_id)}
    event = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=types.Content(role="model", parts=[types.Part(function_call=c) for c in calls]),
    )
    async with Aclosing(execute_calls(ctx, event, tools, None, confirmations)) as events:
        async for one in events:
            for response in one.get_function_responses():
                if response.id in keys:
                    _keep_credentials(ctx, response.id, one, keys[response.id])
            yield one


def _restore_credentials(ctx: InvocationContext, call_id: str) -> Collection[str]:
    """Give a call the credentials that it had when it asked for something else; return the keys."""
    kept = recall_credentials(ctx.session, call_id)
    # Credentials belong to this run only; a separate delta keeps them out of events.
    state = State(ctx.session.state, {})
    for key, credential in kept.items():
        if state.get(State.TEMP_PREFIX + key) is None:
            state[State.TEMP_PREFIX + key] = credential
    return kept


def _keep_credentials(
    ctx: InvocationContext, call_id: str, response: Event, keys: Collection[str]
) -> None:
    """Keep the credentials of a call that asks for something else; forget them if it does not."""
    actions = response.actions
    asked = actions.requested_auth_configs.get(call_id)
    waits = asked is not None or call_id in actions.requested_tool_confirmations
    refused = None if asked is None else asked.credential_key
    # The run may have exchanged what the user gave for a token.
    found = {
        key: ctx.credential_by_key.get(key) or ctx.session.state.get(State.TEMP_PREFIX + key)
        for key in keys
        if waits and key != refused
    }
    kept = {key: credential for key, credential in found.items() if credential is not None}
    remember_credentials(ctx.session, call_id, kept)

"""The framework's own calls to the user: requests for credentials and for confirmations.

Programs for google-adk import these functions from `functions.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import auth, types
from ....auth.redaction import public_config
from ....context.invocation import InvocationContext
from ....events.event import Event
from ....events.request_input import QUESTION_ID, TOOL_QUESTION, read_tool_question
from ....events.request_input import read_question_answer as read_question_answer
from .model_calls import generate_client_function_call_id

if TYPE_CHECKING:
    from ....auth.auth_tool import AuthConfig

REQUEST_EUC_FUNCTION_CALL_NAME = "adk_request_credential"
REQUEST_INPUT_FUNCTION_CALL_NAME = "adk_request_input"
REQUEST_CONFIRMATION_FUNCTION_CALL_NAME = "adk_request_confirmation"


def build_auth_request_event(
    invocation_context: InvocationContext,
    auth_requests: dict[str, AuthConfig],
    *,
    author: str | None = None,
    role: str | None = None,
) -> Event:
    """Build the event that asks the user for credentials, without secrets (Spec 1 §10).

    With `App.send_client_secrets` it holds the OAuth2 client's secret, for clients that exchange
    codes themselves.

    Args:
      invocation_context: the run.
      auth_requests: the requests by function call id.
      author: author of the event; None for the current agent.
      role: role of the content.
    """
    tells = invocation_context.services.sends_client_secrets
    calls = [
        (
            REQUEST_EUC_FUNCTION_CALL_NAME,
            auth.AuthToolArguments(
                function_call_id=call_id,
                auth_config=public_config(config, with_client_secret=tells),
            ).model_dump(mode="json", exclude_none=True, by_alias=True),
        )
        for call_id, config in auth_requests.items()
    ]
    return _request_event(invocation_context, calls, author, role)


def generate_auth_event(
    invocation_context: InvocationContext, function_response_event: Event
) -> Event | None:
    """Return the event that requests the tools' credentials, or None."""
    requested = function_response_event.actions.requested_auth_configs
    if not requested:
        return None
    return build_auth_request_event(invocation_context, requested, role="user")


def generate_request_confirmation_event(
    invocation_context: InvocationContext,
    function_call_event: Event,
    function_response_event: Event,
) -> Event | None:
    """Return the event that requests the tools' confirmations, or None."""
    requested = function_response_event.actions.requested_tool_confirmations
    by_id = {call.id: call for call in function_call_event.get_function_calls()}
    calls: list[tuple[str, dict[str, Any]]] = []
    for call_id, confirmation in requested.items():
        call = by_id.get(call_id)
        if call is None:
            continue
        question = read_tool_question(confirmation)
        if question is not None:
            calls.append((REQUEST_INPUT_FUNCTION_CALL_NAME, {"functionCallId": call_id} | question))
            continue
        arguments = {
            "originalFunctionCall": call.model_dump(exclude_none=True, by_alias=True, mode="json"),
            "toolConfirmation": confirmation.model_dump(
                by_alias=True, exclude_none=True, mode="json"
            ),
        }
        calls.append((REQUEST_CONFIRMATION_FUNCTION_CALL_NAME, arguments))
    return _request_event(invocation_context, calls, None, "model") if calls else None


def asks_for_confirmation(event: Event) -> bool:
    """Return whether an event asks for tool confirmation; a call in doubt asks once more."""
    actions = event.actions
    return bool(actions.requested_tool_confirmations and actions.skip_summarization)


def asks_for_credential(event: Event) -> bool:
    """Return whether an event asks the user for a credential; the run waits for the answer."""
    if event.actions.requested_auth_configs:
        return True
    return bool(event.long_running_tool_ids) and any(
        call.name == REQUEST_EUC_FUNCTION_CALL_NAME for call in event.get_function_calls()
    )


def _request_event(
    ctx: InvocationContext,
    calls: list[tuple[str, dict[str, Any]]],
    author: str | None,
    role: str | None,
) -> Event:
    parts: list[types.Part] = []
    ids: set[str] = set()
    asks = any(name == REQUEST_INPUT_FUNCTION_CALL_NAME for name, _ in calls)
    for name, arguments in calls:
        call_id = generate_client_function_call_id()
        if name == REQUEST_INPUT_FUNCTION_CALL_NAME:
            call_id = QUESTION_ID + call_id
        ids.add(call_id)
        call = types.FunctionCall(name=name, args=arguments, id=call_id)
        parts.append(types.Part(function_call=call))
    return Event(
        invocation_id=ctx.invocation_id,
        author=author or ctx.agent.name,
        branch=ctx.branch,
        content=types.Content(parts=parts, role=role),
        long_running_tool_ids=ids,
        custom_metadata={TOOL_QUESTION: True} if asks else None,
    )

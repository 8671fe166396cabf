"""The credential that a function node needs: asked for before the function runs, by a call that the
user answers as that of a tool. It lives in the run only, and no event has its secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from .. import auth, types
from ..auth.asked import recall_request, remember_request
from ..auth.redaction import public_config, public_credential
from ..context.context import Context
from ..errors import CallerError, InvalidAnswerError
from ..events.event import Event
from ..events.request_input import DECLINED
from ..sessions.state import State
from .rehydrate import CREDENTIAL_ID, REQUEST_CREDENTIAL

if TYPE_CHECKING:
    from ..auth.auth_credential import AuthCredential
    from ..auth.auth_tool import AuthConfig

_CONSENT = "Please complete the authentication flow."
_KEY = "Please provide your API key for {}."
_ANY = "Please provide your authentication credentials."


async def ask_for_credential(ctx: Context, config: AuthConfig) -> Event | None:
    """Return the event that asks for a node's credential, or None if the run has it.

    Args:
      ctx: the node's context; `ctx.get_auth_response(config)` gives the credential.
      config: what is needed.

    Raises:
      InvalidAnswerError: the user's answer is no credential.
      CallerError: the user refused to give it; the node fails.
      CredentialExchangeError: its code could not be exchanged for a reason the user cannot mend.
    """
    if ctx.get_auth_response(config) is not None:
        return None
    call_id = CREDENTIAL_ID + ctx.node_path
    given = _find_answer(ctx, call_id)
    if given is not None:
        asked = recall_request(ctx.session, call_id) or config
        # A throw-away delta keeps the credential out of events.
        await auth.AuthHandler(asked).accept_answer(given, State(ctx.session.state, {}))
        if ctx.get_auth_response(config) is not None:
            return None
    request = auth.AuthHandler(config).generate_auth_request()
    remember_request(ctx.session, call_id, request)
    tells = ctx.get_invocation_context().services.sends_client_secrets
    arguments = auth.AuthToolArguments(
        function_call_id=call_id, auth_config=public_config(request, with_client_secret=tells)
    ).model_dump(mode="json", exclude_none=True, by_alias=True)
    call = types.FunctionCall(
        name=REQUEST_CREDENTIAL, id=call_id, args={**arguments, "message": _write_message(config)}
    )
    return Event(
        content=types.Content(role="model", parts=[types.Part(function_call=call)]),
        long_running_tool_ids={call_id},
    )


def credential_in(response: Mapping[str, Any] | None) -> AuthCredential | None:
    """Return the credential in an answer, or None if it has none, or one without its secrets.

    Raises:
      InvalidAnswerError: there is something else in its place.
    """
    answer = response or {}
    given = answer.get("exchangedAuthCredential", answer.get("exchanged_auth_credential"))
    if given is None:
        return None
    try:
        credential = auth.AuthCredential.model_validate(given)
    except ValidationError as error:
        raise InvalidAnswerError(
            "The answer to a node's request for a credential holds an exchangedAuthCredential with "
            f"{error.error_count()} invalid field(s). Answer with the request's authConfig and the "
            "credential filled in."
        ) from None
    # The log keeps answers without secrets: a run that resumes after a crash has to ask again.
    return None if public_credential(credential) == credential else credential


def _find_answer(ctx: Context, call_id: str) -> AuthCredential | None:
    message = ctx.get_invocation_context().user_content
    for part in (message.parts if message is not None else None) or ():
        answer = part.function_response
        if answer is not None and answer.id == call_id:
            if answer.response == DECLINED:
                raise CallerError("The user refused to give the credential that the node needs.")
            return credential_in(answer.response)
    return None


def _write_message(config: AuthConfig) -> str:
    scheme = cast(Any, config.auth_scheme)
    kind = str(getattr(scheme.type_, "value", scheme.type_))
    if kind in ("oauth2", "openIdConnect"):
        return _CONSENT
    if kind == "apiKey" and config.raw_auth_credential is not None:
        return _KEY.format(scheme.name)
    return _ANY

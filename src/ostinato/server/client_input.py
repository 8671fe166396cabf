"""Checks of the messages, state and metadata that clients send.

A client speaks as the user. A function call in its message would never get a response, and the
model would see it in every later turn. `app:` keys apply to all users of an app, and instructions
may contain them, so a client may write them only if the host allows it. Only runs write `temp:`
keys and the runtime's own keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import types
from ..errors import InputValidationError
from ..execution.request_checks import RESERVED_METADATA
from ..sessions.state import State
from .names import LONGEST_NAME, check_content, check_id
from .problems import Problem, invalid_input
from .settings import ServerSettings

_ROLES = (None, "", "user")
_SHOWN = 40
_RUNTIME = ("_adk", "__adk", RESERVED_METADATA)
_MODEL_PARTS = {
    "function_call": "functionCall",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "tool_call": "toolCall",
    "tool_response": "toolResponse",
}


def check_message(content: types.Content | None) -> None:
    """Refuse a message that is not a user's.

    Raises:
      InputValidationError: its role is not `user`, a part is one that only a model or its provider
        produces, or an id or a name is not valid.
    """
    if content is None:
        return
    check_content(content)
    if content.role not in _ROLES:
        raise InputValidationError(
            f"The role of a message has to be 'user' or left out, not {content.role[:_SHOWN]!a}."
        )
    for part in content.parts or ():
        for field, name in _MODEL_PARTS.items():
            if getattr(part, field) is not None:
                raise InputValidationError(
                    f"A message may not contain {name}: only a model produces it. Send text, "
                    "files or functionResponse."
                )


def check_client_state(settings: ServerSettings, delta: Mapping[str, Any] | None) -> None:
    """Refuse a state change that a client may not make.

    Raises:
      InputValidationError: a key is too long, or not printable.
      Problem: a key belongs to the runtime, or to the app and the settings do not allow it.
    """
    for key in delta or ():
        check_id("state key", key, LONGEST_NAME)
        if key.startswith((State.TEMP_PREFIX, *_RUNTIME)):
            raise Problem(
                400,
                "ReservedStateKey",
                f"State key {key!r} belongs to the runtime; clients cannot write it.",
            )
        if key.startswith(State.APP_PREFIX) and not settings.allow_app_state:
            raise Problem(
                403,
                "AppStateNotAllowed",
                f"State key {key!r} applies to all users of the app. A client may write it only if "
                "the server is started with --allow-app-state.",
            )


def without_app_state(settings: ServerSettings, delta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state that a client sends back, without `app:` keys unless they are allowed.

    A client that echoes the whole state does not want to change the app's state.
    """
    return {
        key: value
        for key, value in delta.items()
        if settings.allow_app_state or not key.startswith(State.APP_PREFIX)
    }


def check_client_metadata(metadata: Mapping[str, Any] | None) -> None:
    """Refuse run metadata with the runtime's reserved keys.

    Raises:
      Problem: a key belongs to the runtime.
    """
    for key in metadata or ():
        if key.startswith(RESERVED_METADATA):
            raise invalid_input(
                f"customMetadata key {key!r} belongs to the runtime; clients cannot write it."
            )

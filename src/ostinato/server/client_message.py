"""Checks of the messages that clients send.

A client speaks as the user. A function call in its message would never get a response, and the
model would see it in every later turn.
"""

from __future__ import annotations

from .. import types
from ..errors import InputValidationError
from .names import check_content

_ROLES = (None, "", "user")
_SHOWN = 40
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

"""Reads a credential back out of session state, where it may be a record or its JSON.

The authentication handler and the session state credential service call it: a state that went
through a database holds plain dicts.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ostinato.auth._ports import StateLike
from ostinato.auth.auth_credential import AuthCredential
from ostinato.errors import InputValidationError


def read_credential(state: StateLike, key: str) -> AuthCredential | None:
    """Return the credential under `key`, or None.

    Raises:
        InputValidationError: something else is stored under `key`.
    """
    value: Any = state.get(key)
    if value is None or isinstance(value, AuthCredential):
        return value
    try:
        return AuthCredential.model_validate(value)
    except ValidationError as error:
        # The value may hold secrets: name its type only, and do not chain pydantic's message.
        raise InputValidationError(
            f"State key {key!r} should hold a credential but holds a {type(value).__name__} with "
            f"{error.error_count()} invalid field(s). Remove the key and ask for the credential "
            "again."
        ) from None

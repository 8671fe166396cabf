"""Checks of the state and metadata that clients write.

`app:` keys apply to all users of an app, and instructions may contain them, so a client may write
them only if the host allows it. Only runs write `temp:` keys and the runtime's own keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..execution.request_checks import RESERVED_METADATA
from ..sessions.state import State
from .names import LONGEST_NAME, check_id
from .problems import Problem, invalid_input
from .settings import ServerSettings

_RUNTIME = ("_adk", "__adk", RESERVED_METADATA)


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

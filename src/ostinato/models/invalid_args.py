"""The arguments of a call as the model wrote them: a dict, or the text that is none. Adapters make
them, the flow answers those that are broken.
"""

from __future__ import annotations

import json
from typing import Any, cast

INVALID_ARGS_KEY = "__invalid_json__"
"""What could not be read as a call's arguments stands under this key, as it came."""


def call_args(text: str | None) -> dict[str, Any]:
    """Return the arguments that a model wrote as JSON.

    Args:
      text: a JSON object; nothing means no arguments.

    Returns:
      The arguments; `{INVALID_ARGS_KEY: text}` for anything else, which the flow tells the model.
    """
    if not text or not text.strip():
        return {}
    try:
        args: object = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):  # the latter for thousands of opened brackets
        return {INVALID_ARGS_KEY: text}
    return cast(dict[str, Any], args) if isinstance(args, dict) else {INVALID_ARGS_KEY: text}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")  # Python's reader takes NaN and Infinity

"""Function call arguments as the model wrote them: a dict, or text that could not be parsed.
Adapters create them; the flow answers the invalid ones.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn, cast

from .wire.surrogates import replace_surrogates

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
        args: object = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        args = replace_surrogates(args) if "\\u" in text else args
    except (ValueError, RecursionError):  # the latter for thousands of opened brackets
        return {INVALID_ARGS_KEY: text}
    return cast(dict[str, Any], args) if isinstance(args, dict) else {INVALID_ARGS_KEY: text}


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse(number)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")  # Python's reader takes NaN and Infinity

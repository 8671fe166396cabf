"""Values as they may be written down: JSON, with what looks like a secret left out.

The plugins that log use it. It errs on the side of leaving out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import to_jsonable_python

from .._secrets import REDACTED as HIDDEN
from .._secrets import is_secret_name
from .._secrets import redact_text as redacted_text

__all__ = ["HIDDEN", "is_secret_name", "redact_value", "redacted_text"]

_DEEPEST = 40


def redact_value(value: Any) -> Any:
    """Return a value as JSON without secrets; what JSON cannot carry is named by its type.

    Args:
      value: anything; records of pydantic become dicts without their empty fields.
    """
    plain = to_jsonable_python(
        value,
        exclude_none=True,
        bytes_mode="base64",
        serialize_unknown=True,
        fallback=lambda other: f"<{type(other).__name__}>",
    )
    return _clean(plain, 0)


def _clean(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {
            redacted_text(str(key)): HIDDEN
            if is_secret_name(str(key)) and item not in (None, "", {}, [])
            else _clean(item, depth + 1)
            for key, item in items
        }
    if isinstance(value, list | tuple):
        return [_clean(item, depth + 1) for item in cast(list[Any], value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value

"""Values as they may be written down: JSON, with what looks like a secret left out.

The plugins that log use it. It errs on the side of leaving out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import to_jsonable_python

HIDDEN = "[redacted]"
_DEEPEST = 40

_WORDS = (
    r"pass(?:word|wd|phrase|code)?|pwd|secrets?|tokens?|api_?keys?|auth|authorization|credentials?|"
    r"cookies?|private_?key|access_?key|signing_?key|encryption_?key|client_?secret|bearer|otp|"
    r"auth_?config|raw_auth_credential|exchanged_auth_credential|auth_code|code_verifier|signature"
)
# The words as whole parts of a name: `db_password`, `apiKey`, not `author` or `token_count`.
_NAME = re.compile(rf"(?:.*_)?(?:{_WORDS})(?:_?(?:id|value|data|header|s))?$", re.IGNORECASE)
_SEPARATOR = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-.:\s]+")
_VALUES = re.compile(
    r"""(?x)
    (?i:\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.~=-]{8,}          # an Authorization header
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*                       # a JSON web token
    | \b(?:sk|pk|rk)-[\w-]{16,}                               # keys of model providers
    | \bAIza[\w-]{30,}                                        # of Google
    | \b(?:ghp|gho|ghs|ghu|ghr|github_pat|glpat|xox[abprs])[_-][\w-]{10,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                           # of AWS
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?i:\b(?:password|passwd|secret|token|api[_-]?key)\b["']?\s*[=:]\s*["']?)[^\s"',;&]{4,}
    | (?<=://)[^\s/@:]+:[^\s/@]+(?=@)                         # user:password@ of a URL
    """,
    re.DOTALL,
)


def redacted(value: Any) -> Any:
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


def redacted_text(text: str) -> str:
    """Return a text with what looks like a secret replaced."""
    return _VALUES.sub(HIDDEN, text)


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds a secret."""
    return _NAME.match(_SEPARATOR.sub("_", name)) is not None


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

"""Secrets in text: the one list of what looks like a key, a token or a password.

Logs, traces, plugins, model adapters and the server redact by it. No pattern has anything to match
behind a repetition that can fail far away, so the cost of a text grows with its length only.
"""

from __future__ import annotations

import re
from functools import cache

REDACTED = "[redacted]"
_LONGEST_NAME = 256  # characters of a field's name that are looked at

_WORDS = (
    r"pass(?:word|wd|phrase|code)?|pwd|secrets?|tokens?|api_?keys?|auth|authorization|credentials?|"
    r"cookies?|private_?key|access_?key|signing_?key|encryption_?key|client_?secret|bearer|otp|"
    r"auth_?config|raw_auth_credential|exchanged_auth_credential|auth_code|code_verifier|signature"
)
# The words as whole parts of a name: `db_password`, `apiKey`, not `author` or `token_count`.
_NAME = re.compile(rf"(?:_|^)(?:{_WORDS})(?:_?(?:id|value|data|header|s))?$", re.IGNORECASE)
_COUNT = re.compile(
    r"(?:^|_)(?:max|min|num|total|prompt|output|input|count|page)_(?:\w{0,40}_)?tokens?$",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-.:\s]+")

_NAMED = (
    r"(?:api|access|account|private|secret|signing|encryption|shared)[_-]?keys?(?:[_-]?id)?|"
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|authorization|cookie"
)
# How the explanation of an invalid field begins, as in `token: Field required`.
_EXPLANATION = (
    r"(?:String|Input|Data|Dates?|Datetimes?|Time|Timezone|List|Tuple|Dictionary|Bytes|Keys|"
    r"Arguments|Object|Instance|(?:Set|Frozenset)\ items|URL(?:\ scheme)?|"
    r"(?:Decimal|Fraction|JSON|URL|UUID)\ input)\ "
    r"(?:should|must|is|has|tag|violated|offset|provided)\b|UUID\ version\b|"
    r"Field\ (?:required|is)\b|Extra\ inputs\ are\b|Value\ error,|Assertion\ failed,|"
    r"Unable\ to\b|Missing\ required\b|Unexpected\ (?:keyword|positional)\b|"
    r"Invalid\ (?:JSON|datetime)\b|Got\ multiple\b|Recursion\ error\b|A\ request\ may\b"
)
_TEXT = rf"""(?x)
    # Authorization headers; after "basic" only what is no plain word
    \bbearer\s{{1,9}}(?:[\w+/.~=-]{{8,}} | (?=[a-z]{{0,9}}[^a-z\s])[\w+/.~=-]{{4,}})
    | \bbasic\s{{1,9}}(?=[a-z]{{0,99}}(?-i:[A-Z0-9+/=]))[\w+/=-]{{6,}}
    # JSON web tokens, also without their end
    | (?-i:\beyJ[\w-]{{8,}}(?:\.[\w-]+){{0,2}}\.?)
    # keys of model providers, Google, AWS, GitHub, GitLab, Slack and Hugging Face
    | (?-i:\b(?:sk|pk|rk|gsk|xai)-[\w-]{{8,}})
    | (?-i:\b(?:sk|pk|rk|gsk|xai|key|hf)[_-](?=[\w-]{{0,99}}[0-9])[\w-]{{12,}})
    | (?-i:\bhf_[A-Za-z]{{20,}})
    | (?-i:\bAIza[\w-]{{10,}} | \bya29\.[\w.-]{{4,}} | \bGOCSPX-[\w-]{{8,}})
    | (?-i:\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{{12,}})
    | (?-i:\b(?:gh[pousr]|github_pat|glpat|xox[a-z]|xapp)[_-][\w-]{{8,}})
    | (?-i:-----BEGIN\ [A-Z0-9\ ]{{0,40}}PRIVATE\ KEY(?:\ BLOCK)?-----
        .*?(?:-----END\ [A-Z0-9\ ]{{0,40}}PRIVATE\ KEY(?:\ BLOCK)?-----|\Z))
    # user:password@ of a URL, unless it is masked; the password may hold an @
    | (?<=://)[^\s/@:"'<>]*:(?!\*\*\*@)[^\s/"'<>]*(?=@)
    # signed URLs
    | (?P<signed>(?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|
        (?<![a-z])(?:signature|sig|awsaccesskeyid|googleaccessid))(?:=|%3d) | (?<=[?&])key=)
        [^\s&"'<>]{{4,}}
    # "key" alone: any long word in a repr, and one with a digit in JSON
    | (?P<key>["']key\\?["']\s{{0,9}}:\s{{0,9}}(?:b?'|\\?"))
        (?:(?<=')[^'\s]{{8,}} | (?<=")(?=[^"\s]{{0,99}}[0-9])[^"\\\s]{{8,}})
    # name = value, name: value and "name": "value", in either kind of quotes; no explanation
    | (?P<name>(?:{_NAMED})[\\"']{{0,4}}\s{{0,9}}[=:]\s{{0,9}}(?:b?\\?["'])?)
        (?!(?-i:{_EXPLANATION}))
        (?:(?<=")(?:[^"\\\n]|\\(?!"))+ | (?<=')(?:[^'\\\n]|\\(?!'))+
        | (?:(?:bearer|basic|digest|token)\s{{1,9}})?[^\s"',;&]{{4,}})
    """


def redact_text(text: str, mark: str = REDACTED) -> str:
    """Return a text with what looks like a secret replaced.

    Args:
      text: any text; the time taken is proportional to its length.
      mark: what takes the place of a secret. The name in front of a value stays.
    """
    return _compile_text().sub(
        lambda found: f"{found[found.lastgroup or 'name'] or ''}{mark}", text
    )


@cache
def _compile_text() -> re.Pattern[str]:
    # When first used, as it takes longer than the import of most modules.
    return re.compile(_TEXT, re.DOTALL | re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name holds a secret."""
    plain = _SEPARATOR.sub("_", name[-_LONGEST_NAME:])
    return _NAME.search(plain) is not None and _COUNT.search(plain) is None

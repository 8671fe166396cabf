"""SentSecrets: what the headers of requests hold, so that no error quotes it."""

from __future__ import annotations

from collections.abc import Mapping

#: Headers that hold no secret, by lower-case name; a redirect takes them anywhere.
HEADERS_WITHOUT_SECRETS = (
    "accept",
    "content-type",
    "user-agent",
    "anthropic-version",
    "anthropic-beta",
    "x-goog-api-client",
)

_SHORTEST = 6  # characters
_MOST_KEPT = 16
_MARK = "***"


class SentSecrets:
    """The secrets of the latest requests: values of headers, without a scheme such as Bearer."""

    def __init__(self) -> None:
        self._secrets: dict[str, None] = {}

    def note(self, headers: Mapping[str, str]) -> None:
        """Remember the secrets of a request's headers."""
        for name, value in headers.items():
            secret = value.rpartition(" ")[2]
            if secret in self._secrets or name.lower() in HEADERS_WITHOUT_SECRETS:
                continue
            if len(secret) >= _SHORTEST:
                self._secrets[secret] = None
                if len(self._secrets) > _MOST_KEPT:
                    del self._secrets[next(iter(self._secrets))]

    def redact(self, text: str) -> str:
        """Return a text without the secrets, also if its end cuts one off."""
        for secret in self._secrets:
            text = text.replace(secret, _MARK)
            for size in range(len(secret) - 1, _SHORTEST - 1, -1):
                if text.endswith(secret[:size]):
                    text = text[:-size] + _MARK
        return text

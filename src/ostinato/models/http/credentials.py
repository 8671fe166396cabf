"""Credentials, which authorize requests to a provider."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from .errors import HttpKeyError
from .messages import HttpRequest

#: A function that returns a key, or an awaitable of it.
KeySource = Callable[[], str | Awaitable[str]]


class Credential(Protocol):
    """Gives the headers that authorize a request. Called once for each request."""

    async def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """Return the headers to add to a request."""
        ...


class ApiKey:
    """A key in one header.

    Args:
      key: the key.
      header: the header's name.
      prefix: what stands in front of the key.
      source: where the key comes from, for errors: an environment variable or an argument.
    """

    def __init__(
        self,
        key: str,
        *,
        header: str = "authorization",
        prefix: str = "Bearer ",
        source: str = "api_key",
    ) -> None:
        self._headers = {header: prefix + checked_key(key, source)}
        self._source = source

    def __repr__(self) -> str:
        return f"ApiKey(from {self._source})"

    async def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """Return the header that holds the key."""
        return self._headers


class KeyFunction:
    """A key that a function returns anew for each request: a refreshed token, a secret store.

    Args:
      function: returns the key, or an awaitable of it.
      header: the header's name.
      prefix: what stands in front of the key.
    """

    def __init__(
        self,
        function: KeySource,
        *,
        header: str = "authorization",
        prefix: str = "Bearer ",
    ) -> None:
        self._function, self._header, self._prefix = function, header, prefix

    def __repr__(self) -> str:
        return f"KeyFunction({getattr(self._function, '__name__', 'a function')})"

    async def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """Return the header with the current key."""
        return {self._header: self._prefix + await read_key(self._function)}


class DeferredCredential:
    """The credential that a function names at the time of each request.

    Args:
      choose: returns the credential.
    """

    def __init__(self, choose: Callable[[], Credential]) -> None:
        self._choose = choose

    def __repr__(self) -> str:
        return "DeferredCredential()"

    async def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """Return the headers of the current credential."""
        return await self._choose().headers(request)


class NoCredential:
    """The empty credential, for servers that need none."""

    async def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """Return no headers."""
        return {}


async def read_key(function: KeySource) -> str:
    """Return the key that a function returns, plain or async.

    Raises:
      HttpKeyError: the function failed, or what it returned is no key. The message names the
        function and the kind of error, whose own message may quote a secret.
    """
    source = f"the function {getattr(function, '__name__', 'of api_key')!r}"
    try:
        found = function()
        key = await found if inspect.isawaitable(found) else found
    except Exception as error:  # boundary: the function is the user's
        raise HttpKeyError(
            f"There is no key, because {source} raised {type(error).__name__}: correct it so that "
            "it returns the key as a str.",
            retryable=isinstance(error, (ConnectionError, TimeoutError)),
        ) from error
    return checked_key(key, source)


def checked_key(key: object, source: str) -> str:
    """Return a key that a header can hold.

    Raises:
      HttpKeyError: the key is not a string, is empty, or contains a line break or another
        character that no key has. The message names the source, not the key.
    """
    if not isinstance(key, str):
        raise HttpKeyError(f"The key from {source} is a {type(key).__name__}, not a str.")
    if not key:
        raise HttpKeyError(f"The key from {source} is empty.")
    if key != key.strip() or not key.isprintable():
        raise HttpKeyError(
            f"The key from {source} holds a line break, a blank or a control character at its "
            "start, its end or inside: set it anew without them."
        )
    if not key.isascii():
        raise HttpKeyError(
            f"The key from {source} holds a character that no key has: copy it anew."
        )
    return key

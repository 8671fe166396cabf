"""ProviderErrors that are errors of a provider's SDK, too, for programs that catch the SDK's."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..errors import ProviderError

# Others may quote keys.
_KEPT = ("code", "llm_provider", "param", "status_code", "type")
_OWN = ("provider", "model", "status", "retry_after", "request_id")
_EMPTY = ("body", "details", "response")


def add_sdk_class(known: ProviderError, error: Exception, base: type[Exception]) -> ProviderError:
    """Make an error an instance of an SDK's class, too.

    Args:
      known: the error; its text stays.
      error: what it was made of, from which it takes `code` and the like.
      base: the SDK's class.

    Returns:
      `known`.
    """
    known.__class__ = _join_classes(type(known), base)
    values = vars(known)
    for name in _KEPT:
        value = getattr(error, name, None)
        if isinstance(value, (str, int)):
            values.setdefault(name, value)
    values.setdefault("code", known.status)
    values.setdefault("message", str(known))
    for name in _EMPTY:
        values.setdefault(name, None)
    return known


@lru_cache
def _join_classes(ours: type[ProviderError], theirs: type[Exception]) -> type[ProviderError]:
    """Return the class of errors that are both; it prints and pickles as ours."""
    names = {"__module__": ours.__module__, "__str__": ours.__str__, "__repr__": ours.__repr__}
    return type(ours.__name__, (ours, theirs), {**names, "__reduce__": _reduce})


def _reduce(self: ProviderError) -> tuple[type, tuple[Any, ...], dict[str, Any]]:
    ours = type(self).__mro__[1]
    return ours, self.args, {name: vars(self)[name] for name in _OWN}

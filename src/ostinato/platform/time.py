"""The source of times: of events, sessions, artifacts, spans, leases and expiries."""

from collections.abc import Callable

from .. import _clock
from ..errors import InputValidationError

_provider: Callable[[], float] | None = None


def get_time() -> float:
    """Return the time in seconds since 1970, as the provider gives it."""
    return _clock.now() if _provider is None else _provider()


def set_time_provider(provider: Callable[[], float]) -> None:
    """Take all times of this process from a function, so that runs can be repeated.

    Records keep their order: a time that does not rise is raised by the smallest step there is. As
    leases go by it too, processes that share a store must share the time.

    Args:
      provider: returns seconds since 1970.

    Raises:
      InputValidationError: `provider` is not callable.
    """
    global _provider
    if not callable(provider):
        raise InputValidationError(
            f"set_time_provider() takes a function without parameters, not {provider!r:.80}. To "
            "undo it call reset_time_provider()."
        )
    _provider = provider
    _clock.use_sources(time=provider)


def reset_time_provider() -> None:
    """Take the system's time again."""
    global _provider
    _provider = None
    _clock.use_system_time()

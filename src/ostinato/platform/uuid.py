"""The source of ids: of sessions, invocations, events and calls."""

from collections.abc import Callable
from typing import Any

from .. import _clock
from ..errors import InputValidationError


def new_uuid() -> str:
    """Return a new id."""
    return _clock.new_id()


def set_id_provider(provider: Callable[[], str]) -> None:
    """Take the ids of all records of this process from a function, so that runs can be repeated.

    Names of temporary files and of processes stay random.

    Args:
      provider: returns an id that it has not returned before.

    Raises:
      InputValidationError: `provider` is not callable; or, once an id is needed, it returns
        something else than a text.
    """
    if not callable(provider):
        raise InputValidationError(
            f"set_id_provider() takes a function without parameters, not {provider!r:.80}. To "
            "undo it call reset_id_provider()."
        )

    def call_provider() -> str:
        made: Any = provider()
        if not isinstance(made, str) or not made:
            raise InputValidationError(f"The provider of ids returned {made!r:.80}, not a text.")
        return made

    _clock.use_sources(ids=call_provider)


def reset_id_provider() -> None:
    """Make random ids again."""
    _clock.use_random_ids()

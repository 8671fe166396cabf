"""Decorators that mark a class or function as unfinished, without a switch of its own.
`utils.feature_decorator` is the public face.

Each is used bare, called without arguments, or called with a text of one's own.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .environment import is_switch_on

T = TypeVar("T")


def experimental(message_or_obj: Any = None) -> Any:
    """Mark a class or function whose use gives a UserWarning, each time.

    The variable ADK_SUPPRESS_EXPERIMENTAL_FEATURE_WARNINGS silences it.
    """
    return _mark_with(message_or_obj, "It may change or go away in any release.", _warn)


def working_in_progress(message_or_obj: Any = None) -> Any:
    """Mark a class or function whose use raises RuntimeError, unless the variable
    ADK_ALLOW_WIP_FEATURES allows it.
    """
    return _mark_with(message_or_obj, "It is not finished and not meant to be used yet.", _refuse)


def _warn(text: str) -> None:
    if not is_switch_on("ADK_SUPPRESS_EXPERIMENTAL_FEATURE_WARNINGS"):
        warnings.warn(f"[EXPERIMENTAL] {text}", stacklevel=4)


def _refuse(text: str) -> None:
    if not is_switch_on("ADK_ALLOW_WIP_FEATURES"):
        raise RuntimeError(f"[WIP] {text}")


def _mark_with(given: Any, usual: str, act: Callable[[str], None]) -> Any:
    message = given if isinstance(given, str) else usual

    def mark(thing: Any) -> Any:
        return guard_with(thing, lambda: act(f"{thing.__name__}: {message}"))

    return mark if given is None or isinstance(given, str) else mark(given)


def guard_with(thing: T, check: Callable[[], None]) -> T:
    """Return `thing` so that `check` runs before each call; a class is checked when constructed.

    A class is changed in place and stays the same class.
    """
    if isinstance(thing, type):
        cls = cast(Any, thing)
        construct = cls.__init__

        @functools.wraps(construct)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            check()
            construct(self, *args, **kwargs)

        cls.__init__ = init
        return thing
    call = cast(Callable[..., Any], thing)

    @functools.wraps(call)
    def check_and_call(*args: Any, **kwargs: Any) -> Any:
        check()
        return call(*args, **kwargs)

    return cast(T, check_and_call)

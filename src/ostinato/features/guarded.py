"""A class or function with a check before each use: what both kinds of markers are made of."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


def guarded(thing: T, check: Callable[[], None]) -> T:
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
    def checked(*args: Any, **kwargs: Any) -> Any:
        check()
        return call(*args, **kwargs)

    return cast(T, checked)

"""Closing of async generators, so that a consumer that stops early ends its source at once.

`ostinato.utils.context_utils.Aclosing` is the public face; every `async for` over a generator of
ours goes through it. Where every step of a run passes, a `try` that ends in `aclose()` does the
same: each block would keep two objects for as long as the run waits for its model.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Aclosing(Generic[T]):
    """Async context manager that closes an async generator when the block is left.

    Args:
      async_generator: the generator to hand out and to close.
    """

    __slots__ = ("async_generator",)

    def __init__(self, async_generator: AsyncGenerator[T, Any]) -> None:
        self.async_generator = async_generator

    async def __aenter__(self) -> AsyncGenerator[T, Any]:
        return self.async_generator

    def __aexit__(self, *_: object) -> Awaitable[None]:
        return self.async_generator.aclose()


def describe_non_generator(found: object, method: str, items: str) -> str:
    """Return what is wrong with a method that did not return an async generator, and the remedy.

    Args:
      found: what it returned; a coroutine is closed.
      method: the method and whose it is, to begin the message.
      items: what it has to yield.
    """
    kind, reason = type(found).__name__, ""
    if inspect.iscoroutine(found):
        found.close()
        reason = " (it is an `async def` without `yield`)"
    elif inspect.isgenerator(found):
        reason = " (it is a `def` with `yield`)"
    return (
        f"{method} returned a {kind} and not an async generator{reason}. Define it with "
        f"`async def`, and `yield` each {items}."
    )

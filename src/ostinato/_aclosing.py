"""Closing of async generators, so that a consumer that stops early ends its source at once.

`ostinato.utils.context_utils.Aclosing` is the public face; every `async for` over a generator of
ours goes through it. Where every step of a run passes, a `try` that ends in `aclose()` does the
same: each block would keep two objects for as long as the run waits for its model.
"""

from __future__ import annotations

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

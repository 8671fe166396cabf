"""TaskGroup: asyncio's, whose first error comes out by itself."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import cast

_Group = BaseExceptionGroup[BaseException]


class TaskGroup(asyncio.TaskGroup):
    """Tasks that end together; where one raises, the others are cancelled.

    The `async with` raises the error itself, not an ExceptionGroup, so that the caller can catch it
    by type, however many tasks ran.
    """

    async def __aexit__(
        self,
        et: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        """Wait for the tasks.

        Raises:
          BaseException: what the first task that failed raised; the others came of it or with it.
        """
        try:
            await super().__aexit__(et, exc, tb)
        except BaseExceptionGroup as errors:
            raise _first(errors) from None


def _first(group: _Group) -> BaseException:
    error = group.exceptions[0]
    return _first(cast(_Group, error)) if isinstance(error, BaseExceptionGroup) else error

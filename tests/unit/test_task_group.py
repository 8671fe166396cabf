"""TaskGroup: errors come out as they are."""

from __future__ import annotations

import asyncio

import pytest

from ostinato._task_group import TaskGroup


async def fails(error: Exception, first: asyncio.Event) -> None:
    await first.wait()
    raise error


async def test_the_first_error_comes_out_by_itself() -> None:
    go, never = asyncio.Event(), asyncio.Event()
    go.set()
    with pytest.raises(LookupError, match="one") as caught:
        async with TaskGroup() as group:
            other = group.create_task(fails(ValueError("two"), never))
            group.create_task(fails(LookupError("one"), go))
    assert other.cancelled()
    assert caught.value.__traceback__ is not None and caught.value.__cause__ is None


async def test_of_groups_within_groups_too() -> None:
    async def inner() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails(LookupError("deep"), go))

    go = asyncio.Event()
    go.set()
    with pytest.raises(LookupError, match="deep"):
        async with TaskGroup() as group:
            group.create_task(inner())


async def test_who_is_cancelled_cancels_the_tasks() -> None:
    never, tasks = asyncio.Event(), list[asyncio.Task[None]]()

    async def work() -> None:
        async with TaskGroup() as group:
            tasks.append(group.create_task(fails(ValueError("two"), never)))

    working = asyncio.create_task(work())
    while not tasks:  # noqa: ASYNC110
        await asyncio.sleep(0)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert tasks[0].cancelled()

"""Servers of tests that start and stop at once.

uvicorn looks ten times a second whether it shall stop, and then waits as long once more: up to
0.2 s for each server of a test. In the processes of tests it looks 200 times a second.
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn.server


class _PromptAsyncio:
    """asyncio for `uvicorn.server`, whose sleeps take a twentieth of their time."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(delay / 20)


def make_uvicorn_prompt() -> None:
    """Let the servers of this process start and stop without delay, from now on."""
    uvicorn.server.__dict__["asyncio"] = _PromptAsyncio()

"""OpenAI's own client against a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from openai import AsyncOpenAI

from tests.unit.server.conftest import Served


@pytest.fixture
async def client(desk: Served) -> AsyncIterator[AsyncOpenAI]:
    """OpenAI's client, which tries nothing twice."""
    base = f"{desk.client.base_url}/v1"
    async with AsyncOpenAI(base_url=base, api_key="any", max_retries=0) as one:
        yield one

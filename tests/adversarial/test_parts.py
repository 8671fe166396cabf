"""A message of many parts costs calls in proportion to them: in the runtime, and in later turns."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from ostinato import Agent, types
from ostinato.models import BaseLlm, LlmRequest, LlmResponse
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService, SqliteSessionService
from ostinato.testing import FunctionModel

pytestmark = pytest.mark.long

SIZES = (2_000, 8_000)
MOST_CALLS = 40  # of each part, in the turn that brings it
MOST_LATER = 12  # of each part, in a later turn


class _Short(BaseLlm):
    """A model that reads nothing."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="ok")]))


MODELS: dict[str, Callable[[], BaseLlm]] = {
    "plain": lambda: _Short(model="short"),
    "function": lambda: FunctionModel(lambda request: "ok"),
}


async def _count_calls(runner: Runner, parts: list[types.Part]) -> int:
    """Return how many functions a turn calls, of Python and C, on this thread."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    message = types.Content(role="user", parts=parts)
    sys.setprofile(note)
    try:
        async for _ in runner.run_async(user_id="ann", session_id="s", new_message=message):
            pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_message_costs_calls_in_proportion_to_its_parts(
    model: str, store: str, tmp_path: Any
) -> None:
    counts: list[list[int]] = []
    for size in SIZES:
        service: Any = (
            InMemorySessionService()
            if store == "memory"
            else SqliteSessionService(str(tmp_path / f"{size}.db"))
        )
        runner = Runner(
            app_name="app",
            agent=Agent(name="root", model=MODELS[model]()),
            session_service=service,
        )
        await service.create_session(app_name="app", user_id="ann", session_id="s")
        many = [types.Part(text="x") for _ in range(size)]
        few = [types.Part(text="next")]
        counts.append([await _count_calls(runner, one) for one in (many, few, few)])
        await runner.close()
    more = SIZES[1] - SIZES[0]
    first, *later = [(large - small) / more for small, large in zip(*counts, strict=True)]
    assert first < MOST_CALLS, counts
    assert max(later) < (1 if model == "plain" else MOST_LATER), counts
    assert first * SIZES[0] <= counts[0][0] * 1.1  # the larger one costs no more for each part

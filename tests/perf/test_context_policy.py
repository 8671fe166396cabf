"""What limits on the context cost: as much in a long session as in a short one, and with 1000
deferred tools as with one."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.apps import ContextPolicy
from ostinato.artifacts import InMemoryArtifactService
from ostinato.sessions import InMemorySessionService
from ostinato.tools import BaseTool, FunctionTool
from ostinato.tools.base_toolset import BaseToolset
from tests.perf.kit import Bench, QuickModel, calls, is_flat

TURNS = 16


def add(a: int, b: int) -> str:
    """Add two numbers, at length."""
    return f"{a + b} " * 1_000


@pytest.mark.long
@pytest.mark.parametrize("result_tokens", [200, 4_000])
async def test_a_turn_with_large_results_costs_the_same_at_any_length(result_tokens: int) -> None:
    bench = Bench(InMemorySessionService(), QuickModel(model="quick"))
    bench.runner.artifact_service = InMemoryArtifactService()
    bench.runner.agent.tools[0] = add
    bench.runner.app.context = ContextPolicy(
        result_tokens=result_tokens, preview_tokens=100, history_tokens=4_500
    )
    await bench.open("long")
    await bench.turns("long", range(40))
    counts: list[float] = []
    for _ in range(3):
        counts.append(await calls(lambda: bench.turn("long"), TURNS))
        await bench.turns("long", range(60))
    assert is_flat(counts), counts


async def test_a_turn_costs_the_same_with_1000_deferred_tools_as_with_one() -> None:
    counts: list[float] = []
    for tools in (1, 1_000):
        bench = Bench(InMemorySessionService(), QuickModel(model="quick"))
        bench.runner.agent.tools.append(Shelf(tools))
        await bench.open("long")
        await bench.turns("long", range(10))
        counts.append(await calls(lambda: bench.turn("long"), TURNS))  # noqa: B023
    assert is_flat(counts), counts


class Shelf(BaseToolset):
    """Deferred tools."""

    def __init__(self, count: int) -> None:
        super().__init__(defer=True)
        self.tools: list[BaseTool] = [make_tool(number) for number in range(count)]

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return self.tools


def make_tool(number: int) -> BaseTool:
    def tool() -> int:
        return number

    tool.__name__ = f"tool_{number}"
    return FunctionTool(tool)

"""Timing of a cold start, for `ostinato run --timing`."""

from __future__ import annotations

import sys
from importlib import import_module
from time import perf_counter
from typing import Any

from ..agents.base_agent import BaseAgent
from ..hosting.stand_in import llm_agents
from ..models.provider_llm import ProviderLlm
from ..plugins.base_plugin import BasePlugin
from .screen import Screen


class Timing(BasePlugin):
    """Measures the steps of a process until its first turn has ended.

    Args:
      began: when the process began to load the command, by `perf_counter`.
    """

    def __init__(self, began: float) -> None:
        super().__init__(name="ostinato_timing")
        self._last = began
        self._rows: dict[str, tuple[float, str]] = {}
        self._turn = 0.0

    def mark(self, step: str, note: str) -> None:
        """End a step that began at the last mark; a step counts once."""
        now = perf_counter()
        self._rows.setdefault(step, (now - self._last, note))
        self._last = now

    def import_sdks(self, root: BaseAgent) -> None:
        """Import the model modules now, so that they do not count as the model's time."""
        names = sorted(
            {
                model.provider.module
                for agent in llm_agents(root)
                if isinstance(model := agent.canonical_model, ProviderLlm)
            }
        )
        for name in names:
            import_module(name)
        if names:
            self.mark("SDK import", ", ".join(names))

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """Start the clock of the turn."""
        self._turn = self._last = perf_counter()

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Record the time of the first model request."""
        self.mark("first request", "from the message to the model request")

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Record the time of the first model response."""
        self.mark("first token", "from there to the first part of its answer")

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """Record the time of the turn."""
        self._last = self._turn
        self.mark("total", "the first turn")

    def report(self) -> None:
        """Write the steps to standard error."""
        screen = Screen(sys.stderr)
        for step, (seconds, note) in self._rows.items():
            screen.line(f"{step:<14}{seconds * 1000:8,.0f} ms   ", (note, "dim"))

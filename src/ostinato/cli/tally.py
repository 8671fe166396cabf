"""Tally: what a turn took: model calls, tool calls, tokens and time. Shown at its end."""

from __future__ import annotations

import time

from ..events.event import Event
from ..events.pending import CONFIRMATION, CREDENTIAL


class Tally:
    """Counts the events of one turn; the time runs from when it is made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._models = self._tools = self._in = self._out = 0

    def count(self, event: Event) -> None:
        """Add an event; partial ones count nothing, and transfers are no tool calls."""
        if event.partial or event.author == "user":
            return
        waiting = event.actions.requested_tool_confirmations
        for response in event.get_function_responses():
            if response.name != "transfer_to_agent" and response.id not in waiting:
                self._tools += 1
        if _is_answer_of_a_model(event):
            self._models += 1
        usage = event.usage_metadata
        if usage is not None:
            self._in += usage.prompt_token_count or 0
            self._out += (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)

    def __str__(self) -> str:
        pieces: list[str] = []
        if self._models:
            pieces.append(_count(self._models, "model call"))
        if self._tools:
            pieces.append(_count(self._tools, "tool call"))
        if self._in or self._out:
            pieces.append(f"{self._in:,} tokens in, {self._out:,} out")
        seconds = time.perf_counter() - self._start
        pieces.append(f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms")
        return " · ".join(pieces)


def _is_answer_of_a_model(event: Event) -> bool:
    """Tell a model's response from what the framework says in its place."""
    content = event.content
    if content is None or content.role != "model" or event.has_trailing_code_execution_result():
        return False
    return not any(c.name in (CONFIRMATION, CREDENTIAL) for c in event.get_function_calls())


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

"""Usage: what the events of an invocation say of calls and tokens, summed up."""

from __future__ import annotations

from dataclasses import dataclass

from .event import Event


@dataclass(slots=True)
class Usage:
    """Sums over an invocation.

    Attributes:
      llm_calls: complete responses of models.
      tool_calls: responses of tools.
      input_tokens, output_tokens, total_tokens: as the models reported them.
    """

    llm_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0

    def count(self, event: Event) -> None:
        """Add an event."""
        if event.partial:
            return
        self.tool_calls += len(event.get_function_responses()) if event.author != "user" else 0
        content = event.content
        if content is not None and content.role == "model":
            self.llm_calls += 1
        usage = event.usage_metadata
        if usage is not None:
            self.input_tokens += usage.prompt_token_count or 0
            self.output_tokens += usage.candidates_token_count or 0
            self.total_tokens += usage.total_token_count or 0

"""Summaries of events by a model; `ostinato.apps` has these classes at google-adk's paths."""

from __future__ import annotations

import abc

from ... import types
from ..._aclosing import Aclosing
from ...events.event import Event
from ...events.event_actions import EventActions, EventCompaction
from ...models.base_llm import BaseLlm
from ...models.llm_request import LlmRequest

_MAX_RESULT_CHARS = 2000
_TEMPLATE = """Summarise the conversation below so that it can continue from your summary alone.
Keep what was asked and answered, facts, decisions, results of tools, names, numbers and open
questions. Leave out greetings and repetition. Write plain text, in the language of the
conversation.

Conversation:
{conversation_history}"""


class BaseEventsSummarizer(abc.ABC):
    """Turns events into one event that carries their summary (Spec 1 §20)."""

    @abc.abstractmethod
    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return an event whose `actions.compaction` stands for `events`, or None."""


class LlmEventSummarizer(BaseEventsSummarizer):
    """Summarises events by asking a model.

    Args:
      llm: the model.
      prompt_template: prompt with `{conversation_history}` in it.
    """

    def __init__(self, llm: BaseLlm, prompt_template: str | None = None) -> None:
        self._llm = llm
        self._template = prompt_template or _TEMPLATE

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return the model's summary, or None if there is nothing to summarise or no answer.

        The event holds the usage of the model call.
        """
        if not events:
            return None
        prompt = self._template.replace("{conversation_history}", _format_events(events))
        request = LlmRequest(
            model=self._llm.model,
            contents=[types.Content(role="user", parts=[types.Part(text=prompt)])],
        )
        summary: types.Content | None = None
        usage: types.GenerateContentResponseUsageMetadata | None = None
        async with Aclosing(self._llm.generate_content_async(request, stream=False)) as responses:
            async for response in responses:
                if not response.partial and response.content is not None:
                    summary, usage = response.content, response.usage_metadata
        if summary is None or not summary.parts:
            return None
        compaction = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=types.Content(role="model", parts=summary.parts),
        )
        return Event(
            author="user",
            actions=EventActions(compaction=compaction),
            invocation_id=Event.new_id(),
            usage_metadata=usage,
        )


def _format_events(events: list[Event]) -> str:
    """Return the events as lines `author: text`, with calls and shortened results."""
    lines: list[str] = []
    for event in events:
        for part in (event.content.parts if event.content else None) or ():
            if part.text and not part.thought:
                lines.append(f"{event.author}: {part.text}")
            elif part.function_call is not None:
                call = part.function_call
                lines.append(f"{event.author} called {call.name} with {call.args}")
            elif part.function_response is not None:
                text = str(part.function_response.response)
                if len(text) > _MAX_RESULT_CHARS:
                    text = text[:_MAX_RESULT_CHARS] + " ..."
                lines.append(f"{part.function_response.name} returned {text}")
    return "\n".join(lines)

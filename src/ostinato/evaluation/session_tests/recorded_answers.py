"""Plugins that answer models and tools from a recording, or make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import types
from ...context.callbacks import first_answer
from ...context.context import Context, invocation_of
from ...errors import InputValidationError
from ...events.event import Event
from ...events.node_call import name_path
from ...events.pending import QUESTIONS
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ...plugins.base_plugin import BasePlugin

_SET_RESPONSE = "set_model_response"


class UnrecordedCallError(InputValidationError):
    """An agent asked its model or called a tool in a way that was not recorded."""


async def ask_own_callbacks(context: Context, request: LlmRequest) -> LlmResponse | None:
    """Return the answer of the agent's before_model callbacks, which run after plugins.

    Args:
      context: the context of the callback.
      request: the request; the callbacks may change it.
    """
    agent: Any = invocation_of(context).agent
    return await first_answer(
        agent.canonical_before_model_callbacks,
        LlmResponse,
        "before_model_callback",
        agent.name,
        callback_context=context,
        llm_request=request,
    )


def _is_of_node(event: Event) -> bool:
    """Return whether a node of a workflow wrote an event, and no agent: its author is a workflow
    above it."""
    return event.author in name_path(event.node_info.path).split("/")[:-1]


class RecordedAnswers(BasePlugin):
    """Answers each request to a model with the next recorded content of its agent.

    Args:
      events: the recorded events.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__(name="ostinato_recorded_answers")
        self._left: dict[str, list[types.Content]] = {}
        skips = False
        for event in events:
            content = event.content
            if content is None or event.author == "user" or _is_of_node(event):
                continue
            if content.role == "user":
                names = [one.name for one in event.get_function_responses()]
                skips = skips or _SET_RESPONSE in names
            elif skips:
                skips = False  # the runtime wrote this one, from the call of set_model_response
            elif not any(one.name in QUESTIONS for one in event.get_function_calls()):
                self._left.setdefault(event.author, []).append(content)

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse:
        """Return the recorded answer.

        Raises:
          UnrecordedCallError: the agent asks its model more often than recorded.
        """
        name = callback_context.agent_name
        left = self._left.get(name, [])
        own = await ask_own_callbacks(callback_context, llm_request)
        if own is not None:
            if left and left[0] == own.content:
                left.pop(0)
            return own
        if not left:
            raise UnrecordedCallError(
                f"Agent {name!r} asks its model more often than was recorded."
            )
        return LlmResponse(content=left.pop(0).model_copy(deep=True))

    def count_left(self) -> int:
        """Return how many recorded answers were not asked for."""
        return sum(map(len, self._left.values()))

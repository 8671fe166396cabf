"""Plugins that answer models and tools from a recording, or make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
from ...tools.agent_tool import AgentTool
from ...tools.base_tool import BaseTool
from ..replay.call_gate import CallTable

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


def describe_failure(error: Exception) -> str:
    """Return what ended a run, without the runtime's words around what was not recorded.

    Args:
      error: what the run raised.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, UnrecordedCallError):
            return str(cause)
        cause = cause.__cause__
    return f"{type(error).__name__}: {error}"


class _Answer(NamedTuple):
    """What a model answered: a content, or the error with which its turn ended.

    Attributes:
      number: of the event.
      content: the content; None for an error.
      error: the event of an error; None for a content.
    """

    number: int
    content: types.Content | None
    error: Event | None = None

    def make_response(self) -> LlmResponse:
        if self.error is not None:
            code, text = self.error.error_code, self.error.error_message
            return LlmResponse(error_code=code, error_message=text)
        assert self.content is not None
        return LlmResponse(content=self.content.model_copy(deep=True))


class RecordedAnswers(BasePlugin):
    """Answers each request to a model with what was recorded of its agent next.

    Models of agents that are called as tools are not in the recording: such a call gets its
    recorded result.

    Args:
      events: the recorded events.

    Attributes:
      message: number of the event with the user's message that runs.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__(name="ostinato_recorded_answers")
        self.message = 0
        self._left: dict[str, list[_Answer]] = {}
        self._calls = CallTable(events)
        skips = False
        for number, event in enumerate(events):
            content = event.content
            if event.author == "user" or _is_of_node(event):
                continue
            if content is None:
                if event.error_code:
                    self._add(event.author, _Answer(number, None, event))
            elif content.role == "user":
                names = [one.name for one in event.get_function_responses()]
                skips = skips or _SET_RESPONSE in names
            elif skips:
                skips = False  # the runtime wrote this one, from the call of set_model_response
            elif not any(one.name in QUESTIONS for one in event.get_function_calls()):
                self._add(event.author, _Answer(number, content))

    def _add(self, agent: str, answer: _Answer) -> None:
        self._left.setdefault(agent, []).append(answer)

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse:
        """Return the recorded answer.

        Raises:
          UnrecordedCallError: the agent asks its model more often than recorded.
        """
        name = callback_context.agent_name
        left = self._left.get(name, [])
        while left and left[0].error is not None and left[0].number < self.message:
            left.pop(0)  # not the model, but a tool or another agent failed in an earlier turn
        own = await ask_own_callbacks(callback_context, llm_request)
        if own is not None:
            if left and left[0].content is not None and left[0].content == own.content:
                left.pop(0)
            return own
        if not left:
            raise UnrecordedCallError(
                f"Agent {name!r} asks its model more often than was recorded."
            )
        return left.pop(0).make_response()

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> Any:
        """Return the recorded result of an agent that is called as a tool; None for other tools."""
        if not isinstance(tool, AgentTool):
            return None
        return await self._calls.answer(tool, tool_args, tool_context)

    def count_left(self) -> int:
        """Return how many recorded answers were not asked for."""
        return sum(one.error is None for left in self._left.values() for one in left)

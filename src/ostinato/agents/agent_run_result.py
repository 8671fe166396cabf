"""AgentRunResult: the result of `agent.run(...)` or `agent.run_sync(...)`, with its usage."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, cast

from pydantic import TypeAdapter
from typing_extensions import TypeVar

from .. import _lazy, types
from ..errors import NoOutputError
from ..events.event import REJECTED, Event
from ..events.model_responses import ModelResponseFilter
from ..events.pending import pending_calls
from ..sessions.session import Session

# As text: only notebooks need it.
_RENDER = "ostinato.events.event_html:render_events"
_ANSWER = "Run the agent with a Runner, which keeps the session for the answer"


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
    _filter: ModelResponseFilter = field(
        default_factory=ModelResponseFilter, init=False, repr=False, compare=False
    )

    def count(self, event: Event) -> None:
        """Add an event."""
        if event.partial:
            return
        self.tool_calls += len(event.get_function_responses()) if event.author != "user" else 0
        if self._filter.is_response(event):
            self.llm_calls += 1
        usage = event.usage_metadata
        if usage is not None:
            self.input_tokens += usage.prompt_token_count or 0
            self.output_tokens += usage.candidates_token_count or 0
            self.total_tokens += usage.total_token_count or 0


Output = TypeVar("Output", default=Any)
Output_co = TypeVar("Output_co", default=Any, covariant=True)


@dataclass(frozen=True, slots=True)
class AgentRunResult(Generic[Output_co]):
    """The result of one run of an agent.

    Attributes:
      agent: the agent that was run.
      events: the events without partial ones.
      session: the session after the run, with its state.
      usage: total calls and tokens.
    """

    agent: Any
    events: Sequence[Event]
    session: Session
    usage: Usage

    def _repr_html_(self) -> str:
        """Return the run for a notebook: its calls and tokens, and its events."""
        used = self.usage
        title = (
            f"{self.agent.name}: {used.llm_calls} model calls, {used.tool_calls} tool calls, "
            f"{used.total_tokens:,} tokens"
        )
        return _lazy.load(_RENDER)(self.events, title)

    @property
    def output(self) -> Output_co:
        """The final text, or an object if the agent that produced it has an `output_schema`.

        Raises:
          NoOutputError: the run ended with an error event or without text, or waits for an answer.
          pydantic.ValidationError: the text does not match the schema.
        """
        return cast(Output_co, read_output(self.agent, self.events))


def read_output(agent: Any, events: Sequence[Event]) -> Any:
    """Return the output of a run: text, or an object if its agent has an `output_schema`.

    Args:
      agent: the agent that was run.
      events: the events of the run without partial ones.

    Raises:
      NoOutputError: the run ended with an error event or without text, or waits for an answer.
      pydantic.ValidationError: the text does not match the schema.
    """
    event = next((e for e in reversed(events) if e.content or e.error_code), None)
    parts = (event.content.parts if event is not None and event.content else None) or ()
    text = "".join(part.text for part in parts if part.text and not part.thought)
    why = "" if event is None else _explain_missing_output(event, text, events)
    if event is None or why:
        reason = (why or "it has no event with content").removesuffix(".")
        raise NoOutputError(
            f"The run of agent {agent.name!r} has no output: {reason}. See its `events`."
        )
    find_agent = getattr(agent, "find_agent", None)  # nodes of graphs have none
    author = (find_agent(event.author) if find_agent else None) or agent
    return _parse_output(text, getattr(author, "output_schema", None))


def _explain_missing_output(event: Event, text: str, events: Sequence[Event]) -> str:
    """Return why the last event with content is not an output; empty if it is one."""
    if event.error_code:
        return f"it ended with {event.error_code}: {event.error_message}"
    answered = ", ".join(answer.name or "" for answer in event.get_function_responses())
    waiting = _describe_waiting(events) if answered or event.long_running_tool_ids else ""
    if waiting:
        return f"it waits for {waiting}. {_ANSWER}"
    if event.custom_metadata and REJECTED in event.custom_metadata:
        return "its last answer does not match the output schema"
    if answered:
        return f"it ended with the result of {answered}"
    return "" if text else "its last event holds no text"


def _describe_waiting(events: Sequence[Event]) -> str:
    """Return what the open calls of a run wait for; empty if no call is open."""
    open_calls = pending_calls(events)
    tools = ", ".join(dict.fromkeys(one.tool for one in open_calls))
    if not tools:
        return ""
    person = "" if all(one.kind == "result" for one in open_calls) else "a person's "
    return f"{person or 'the '}answer to {tools}"


def _parse_output(text: str, schema: Any) -> Any:
    if schema is None or schema is str:
        return text
    if isinstance(schema, dict | types.Schema):
        return json.loads(text)
    return TypeAdapter(schema).validate_json(text)

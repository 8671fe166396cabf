"""AgentRunResult: what came of `agent.run(...)` or `agent.run_sync(...)`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, cast

from pydantic import TypeAdapter
from typing_extensions import TypeVar

from .. import types
from ..errors import NoOutputError
from ..events.event import REJECTED, Event
from ..events.usage import Usage
from ..sessions.session import Session

Output = TypeVar("Output", default=Any)
Output_co = TypeVar("Output_co", default=Any, covariant=True)


@dataclass(frozen=True, slots=True)
class AgentRunResult(Generic[Output_co]):
    """What came of one run of an agent.

    Attributes:
      agent: the agent that was run.
      events: the events, partial ones left out.
      session: the session that the run has left, with its state.
      usage: calls and tokens, summed up.
    """

    agent: Any
    events: Sequence[Event]
    session: Session
    usage: Usage

    @property
    def output(self) -> Output_co:
        """The final text; or the object that it stands for, where the agent that said it has an
        `output_schema`.

        Raises:
          NoOutputError: the run ended with an error event, waits for somebody's answer, or said
            nothing.
          pydantic.ValidationError: the text does not fit the schema.
        """
        event = next((e for e in reversed(self.events) if e.content or e.error_code), None)
        parts = (event.content.parts if event is not None and event.content else None) or ()
        text = "".join(part.text for part in parts if part.text and not part.thought)
        why = "" if event is None else _why_none(event, text)
        if event is None or why:
            raise NoOutputError(
                f"The run of agent {self.agent.name!r} has no output: {why or 'it said nothing'}. "
                "What there is, is in `events`."
            )
        author = self.agent.find_agent(event.author) or self.agent
        return cast(Output_co, _value(text, getattr(author, "output_schema", None)))


def _why_none(event: Event, text: str) -> str:
    """Say why the last event with something in it is no output; empty where it is one."""
    if event.error_code:
        return f"it ended with {event.error_code}: {event.error_message}"
    if event.long_running_tool_ids:
        waiting = ", ".join(call.name or "" for call in event.get_function_calls())
        return f"it waits for the answer to {waiting}"
    if event.custom_metadata and REJECTED in event.custom_metadata:
        return "its last answer does not fit the output schema"
    answered = ", ".join(answer.name or "" for answer in event.get_function_responses())
    if answered:
        return f"it ended with the result of {answered}"
    return "" if text else "its last event holds no text"


def _value(text: str, schema: Any) -> Any:
    if schema is None or schema is str:
        return text
    if isinstance(schema, dict | types.Schema):
        return json.loads(text)
    return TypeAdapter(schema).validate_json(text)

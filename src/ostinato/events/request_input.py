"""RequestInput: what a workflow node yields to ask a person."""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from .. import _clock, types
from ..auth.tool_confirmation import ToolConfirmation

REQUEST_INPUT = "adk_request_input"
"""Name of the function call that stands for a request in the log."""

TOOL_QUESTION = "ostinato:question"
"""Key of what a tool asks in the payload of its request for confirmation, which then goes to the
user as a request for input; and of the custom metadata of the event with that request."""

QUESTION_ID = "adk-question-"
"""Prefix of the ids of such requests. The model sees neither them nor their answers."""

DECLINED: dict[str, Any] = {"action": "decline"}
"""The answer of a user who does not want to answer a tool's question."""


class RequestInput(BaseModel):
    """A question of a workflow node to a person (FEATURES A.25).

    The run pauses; a function response with the id of the request resumes it.

    Attributes:
      interrupt_id: id of the request; made where none is given.
      payload: JSON for the client that shows the question.
      message: the question.
      response_schema: type of the answer: a type, a Schema or JSON schema; anything where None.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
    )

    interrupt_id: str = Field(default_factory=_clock.new_id)
    payload: Any | None = None
    message: str | None = None
    response_schema: Any = None

    def part(self) -> types.Part:
        """Return the function call that stands for the request."""
        return types.Part(
            function_call=types.FunctionCall(
                id=self.interrupt_id,
                name=REQUEST_INPUT,
                args={
                    "interruptId": self.interrupt_id,
                    "payload": self.payload,
                    "message": self.message,
                    "response_schema": _json_schema(self.response_schema),
                },
            )
        )


def _json_schema(schema: Any) -> dict[str, Any] | None:
    if schema is None:
        return None
    if isinstance(schema, dict):
        return cast(dict[str, Any], schema)
    if isinstance(schema, types.Schema):
        return schema.json_schema.to_json_values()
    return TypeAdapter(schema).json_schema()


def read_tool_question(confirmation: ToolConfirmation) -> dict[str, Any] | None:
    """Return the arguments of the request for input that a tool's request stands for, or None.

    A tool that needs more than a yes or no puts what it keeps for the answer into the payload under
    `TOOL_QUESTION`, and beside it what the user sees: `payload` and `response_schema`.
    """
    payload: Any = confirmation.payload
    if not isinstance(payload, dict) or TOOL_QUESTION not in payload:
        return None
    shown = cast("dict[str, Any]", payload)
    return {
        "message": confirmation.hint,
        "payload": shown.get("payload"),
        "response_schema": shown.get("response_schema"),
    }


def read_question_answer(response: dict[str, Any]) -> ToolConfirmation:
    """Return the user's answer to a tool's question: its payload is what the user gave."""
    given: Any = response["result"] if set(response) == {"result"} else response
    return ToolConfirmation(confirmed=given != DECLINED, payload=given)

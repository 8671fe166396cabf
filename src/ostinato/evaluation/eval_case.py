"""EvalCase: one conversation with what is expected of the agent, and the parts of it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, Field, model_validator
from pydantic.alias_generators import to_camel

from .. import types
from ..events.event import Event, NodeInfo
from .app_details import AppDetails
from .conversation_scenarios import ConversationScenario
from .eval_base_model import (
    CommentedModel,
    EvalBaseModel,
    NewerFieldsModel,
    refuse_both_spellings,
    refuse_unknown,
)
from .eval_rubrics import Rubric


class IntermediateData(EvalBaseModel):
    """What happens before the final response, in the form that people write.

    Attributes:
      tool_uses: calls in order. Arguments may hold matchers such as `{"$regex": "..."}`.
      tool_responses: responses of these calls; they are also the mocks of the tools.
      intermediate_responses: pairs of an agent's name and the parts that it said.
    """

    tool_uses: list[types.FunctionCall] = Field(default_factory=list[types.FunctionCall])
    tool_responses: list[types.FunctionResponse] = Field(
        default_factory=list[types.FunctionResponse]
    )
    intermediate_responses: list[tuple[str, list[types.Part]]] = Field(
        default_factory=list[tuple[str, list[types.Part]]]
    )


_OF_PAGE = ("invocationIndex", "toolUseIndex")


class InvocationEvent(NewerFieldsModel):
    """One event before the final response.

    Attributes:
      author: the agent.
      content: what it said, called or received.
      usage_metadata, grounding_metadata, model_version: of the model's response.
    """

    newer_fields: ClassVar[frozenset[str]] = frozenset(
        {"usage_metadata", "grounding_metadata", "model_version"}
    )

    @model_validator(mode="before")
    @classmethod
    def _leave_page_out(cls, data: Any) -> Any:
        """Leave out what the editor of google-adk's page adds for itself."""
        if not isinstance(data, dict):
            return data
        given = cast(dict[str, Any], data)
        return {name: value for name, value in given.items() if name not in _OF_PAGE}

    author: str
    content: types.Content | None = None
    usage_metadata: types.GenerateContentResponseUsageMetadata | None = None
    grounding_metadata: types.GroundingMetadata | None = None
    model_version: str | None = None


class InvocationEvents(EvalBaseModel):
    """What happens before the final response, as events.

    Attributes:
      invocation_events: the events in order.
    """

    invocation_events: list[InvocationEvent] = Field(default_factory=list[InvocationEvent])


IntermediateDataType: TypeAlias = IntermediateData | InvocationEvents


class TracedCall(EvalBaseModel):
    """A call of a tool with the place it came from.

    Attributes:
      path: the agents and tools that lead to it, such as `billing/refund`: the agent that called,
        and for calls within an AgentTool the path of that tool's call.
      name, args: the call.
      inner: whether an agent made it that runs as a tool.
    """

    path: str
    name: str
    args: dict[str, Any] = Field(default_factory=dict[str, Any])
    inner: bool = False


class Invocation(NewerFieldsModel):
    """One turn: a message and what follows from it, expected or observed.

    Attributes:
      invocation_id: its id.
      user_content: the message.
      final_response: the answer.
      intermediate_data: what happens in between.
      creation_timestamp: seconds since 1970.
      rubrics: rubrics of this invocation alone.
      app_details: instructions and tools of the agents that ran.
      duration, model_duration, tool_duration: seconds.
      call_trace: all calls with their paths, those within an AgentTool included.
      inference_call_count: requests to models that a newer google-adk counted; not compared.
    """

    newer_fields: ClassVar[frozenset[str]] = frozenset(
        {"duration", "model_duration", "tool_duration", "call_trace", "inference_call_count"}
    )

    invocation_id: str = ""
    user_content: types.Content
    final_response: types.Content | None = None
    intermediate_data: IntermediateDataType | None = None
    creation_timestamp: float = 0.0
    rubrics: list[Rubric] | None = None
    app_details: AppDetails | None = None
    duration: float | None = None
    model_duration: float | None = None
    tool_duration: float | None = None
    call_trace: list[TracedCall] | None = None
    inference_call_count: int | None = Field(default=None, ge=0)


SessionState: TypeAlias = dict[str, Any]


def _check_event(data: Any) -> Any:
    """Refuse unknown fields of a written event, which events themselves ignore."""
    if isinstance(data, dict):
        given = cast(dict[str, Any], data)
        _check_fields(Event, given)
        place = "nodeInfo" if "nodeInfo" in given else "node_info"
        if isinstance(given.get(place), dict):
            _check_fields(NodeInfo, given[place], place)
    return cast(Any, data)


def _check_fields(kind: type[BaseModel], data: dict[str, Any], *place: str) -> None:
    refuse_both_spellings(data)
    known = {*kind.model_fields, *map(to_camel, kind.model_fields)}
    refuse_unknown(kind, {name: data[name] for name in data if name not in known}, *place)


WrittenEvent: TypeAlias = Annotated[Event, BeforeValidator(_check_event)]
"""An event in a file that people write."""


class SessionInput(EvalBaseModel, CommentedModel):
    """The session with which a case begins.

    Attributes:
      app_name: the app.
      user_id: the user.
      session_id: the session's id; a new one by default.
      state: its state.
      events: its history before the first message.
    """

    app_name: str
    user_id: str
    session_id: str | None = None
    state: SessionState = Field(default_factory=dict[str, Any])
    events: list[WrittenEvent] = Field(default_factory=list[Event])


StaticConversation: TypeAlias = list[Invocation]


class EvalCase(EvalBaseModel, CommentedModel):
    """A conversation with an agent, and what is expected of it.

    It has either a `conversation` or a `conversation_scenario`.

    Attributes:
      eval_id: unique in its set.
      conversation: the turns, with fixed messages.
      conversation_scenario: a scenario that a simulated user plays.
      session_input: the session to begin with.
      creation_timestamp: seconds since 1970.
      rubrics: rubrics of all invocations.
      final_session_state: values that the state must hold at the end; other keys may exist.
    """

    eval_id: str
    conversation: StaticConversation | None = None
    conversation_scenario: ConversationScenario | None = None
    session_input: SessionInput | None = None
    creation_timestamp: float = 0.0
    rubrics: list[Rubric] | None = None
    final_session_state: SessionState | None = Field(default_factory=dict[str, Any])

    @model_validator(mode="after")
    def ensure_conversation_xor_conversation_scenario(self) -> Self:
        """Refuse a case with neither or both kinds of conversation."""
        if (self.conversation is None) == (self.conversation_scenario is None):
            raise ValueError(
                f"Case {self.eval_id!r} needs either `conversation` or `conversation_scenario`, "
                "and not both."
            )
        return self


ToolCallAndResponse: TypeAlias = tuple[types.FunctionCall, types.FunctionResponse | None]


def _parts_of(events: InvocationEvents) -> list[types.Part]:
    contents = [event.content for event in events.invocation_events if event.content is not None]
    return [part for content in contents for part in content.parts or ()]


def get_all_tool_calls(intermediate_data: IntermediateDataType | None) -> list[types.FunctionCall]:
    """Return the calls of intermediate data, in order.

    Args:
      intermediate_data: the data in either form, or None.
    """
    if intermediate_data is None:
        return []
    if isinstance(intermediate_data, IntermediateData):
        return intermediate_data.tool_uses
    parts = _parts_of(intermediate_data)
    return [part.function_call for part in parts if part.function_call is not None]


def get_all_tool_responses(
    intermediate_data: IntermediateDataType | None,
) -> list[types.FunctionResponse]:
    """Return the responses of tools in intermediate data, in order.

    Args:
      intermediate_data: the data in either form, or None.
    """
    if intermediate_data is None:
        return []
    if isinstance(intermediate_data, IntermediateData):
        return intermediate_data.tool_responses
    parts = _parts_of(intermediate_data)
    return [part.function_response for part in parts if part.function_response is not None]


def get_all_tool_calls_with_responses(
    intermediate_data: IntermediateDataType | None,
) -> list[ToolCallAndResponse]:
    """Return the calls in order, each with the response of the same id or None.

    Args:
      intermediate_data: the data in either form, or None.
    """
    answers = {one.id: one for one in get_all_tool_responses(intermediate_data)}
    return [(call, answers.get(call.id)) for call in get_all_tool_calls(intermediate_data)]

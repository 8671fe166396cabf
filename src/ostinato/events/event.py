"""Event: one fact of a conversation. Agents yield it, the runner commits it, callers receive it."""

import sys
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

from .. import _clock, _lazy, types
from ..models.llm_response import RECORD_FIELDS, LlmResponse
from ..types.like_named import GENAI_TYPES, own, own_fields
from ..types.record_template import RecordTemplate
from .event_actions import ACTIONS_TEMPLATE, EventActions

REJECTED = "ostinato:rejected"
"""Key in the custom metadata of output that broke its schema, and of the correction after it."""

NODE_CALL = "ostinato:node_call"
"""Key in the custom metadata of a tool node's event: tool and arguments of its call."""

# As text: only notebooks need it.
_RENDER = "ostinato.events.event_html:render_event"

if TYPE_CHECKING:
    from ..models.cache_metadata import CacheMetadata

    _Piece = str | types.Part | types.File
    _Message = types.Content | _Piece | Sequence[_Piece]

_SHORTHANDS = frozenset(("state", "route", "node_path", "message"))


class NodeInfo(BaseModel):
    """Where in a graph of nodes, or in a tree of agents, an event comes from (Spec 4 §7).

    Attributes:
      path: segments `name@run_id`, joined by `/`; empty where a run has no place.
      output_for: paths of the enclosing nodes whose output this event's output is.
      message_as_output: whether the content itself is the node's output.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        defer_build=True,
    )

    path: str = ""
    output_for: list[str] | None = None
    message_as_output: bool | None = None

    @property
    def run_id(self) -> str:
        """Run id of the last segment; empty where it has none."""
        return self.path.rpartition("/")[2].partition("@")[2]

    @property
    def parent_run_id(self) -> str | None:
        """Run id of the segment before the last, or None at the root."""
        return self.path.rpartition("/")[0].rpartition("/")[2].partition("@")[2] or None

    @property
    def name(self) -> str:
        """Name of the last segment, without its run id."""
        return self.path.rpartition("/")[2].partition("@")[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeInfo) and vars(self) == vars(other)


class AgentPlace(NodeInfo):
    """Place of an event whose agent runs in no graph: nothing is read from it but the path."""

    def __repr_name__(self) -> str:
        return NodeInfo.__name__


class Event(LlmResponse):
    """One event of a session (Spec 2 §7.1, Spec 4 §7).

    `Event(state=..., route=..., node_path=..., message=...)` are short for `actions.state_delta`,
    `actions.route`, `node_info.path` and `content`. A message is text, a part, a file, a list of
    these, or a Content.

    Attributes:
      invocation_id: the run this event belongs to.
      author: `user` or the name of an agent.
      actions: effects of the event.
      output: output value of a workflow node.
      node_info: place of the event in a graph of nodes or in the tree of agents.
      long_running_tool_ids: ids of those function calls whose tools are long-running.
      branch: dotted path of parallel branches, such as `fan.left`; None outside of them.
      isolation_scope: scope of a delegated task; None for the conversation itself.
      id: unique id, made at construction.
      timestamp: seconds since 1970.
    """

    model_config = ConfigDict(
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        defer_build=True,
    )

    invocation_id: str = ""
    author: str = ""
    actions: EventActions = Field(default_factory=EventActions)
    output: Any | None = None
    node_info: NodeInfo = Field(default_factory=NodeInfo)
    long_running_tool_ids: set[str] | None = None
    branch: str | None = None
    isolation_scope: str | None = None
    id: str = Field(default_factory=_clock.new_id)
    timestamp: float = Field(default_factory=_clock.now)

    if TYPE_CHECKING:  # the fields and the shorthands

        def __init__(
            self,
            *,
            message: _Message | None = None,
            state: Mapping[str, Any] | None = None,
            route: Any = None,
            node_path: str | None = None,
            output: Any = None,
            author: str = "",
            invocation_id: str = "",
            id: str = "",
            timestamp: float = 0.0,
            content: types.Content | None = None,
            actions: EventActions = ...,
            node_info: NodeInfo = ...,
            partial: bool | None = None,
            branch: str | None = None,
            isolation_scope: str | None = None,
            long_running_tool_ids: set[str] | None = None,
            turn_complete: bool | None = None,
            turn_complete_reason: types.TurnCompleteReason | None = None,
            interrupted: bool | None = None,
            finish_reason: types.FinishReason | None = None,
            error_code: str | None = None,
            error_message: str | None = None,
            custom_metadata: dict[str, Any] | None = None,
            usage_metadata: types.GenerateContentResponseUsageMetadata | None = None,
            grounding_metadata: types.GroundingMetadata | None = None,
            citation_metadata: types.CitationMetadata | None = None,
            cache_metadata: CacheMetadata | None = None,
            model_version: str | None = None,
            avg_logprobs: float | None = None,
            logprobs_result: types.LogprobsResult | None = None,
            input_transcription: types.Transcription | None = None,
            output_transcription: types.Transcription | None = None,
            live_session_id: str | None = None,
            live_session_resumption_update: types.LiveServerSessionResumptionUpdate | None = None,
            go_away: types.LiveServerGoAway | None = None,
            interaction_id: str | None = None,
        ) -> None: ...

    else:

        def __init__(self, **data: Any) -> None:
            if not _SHORTHANDS.isdisjoint(data):
                data = _without_shorthands(data, type(self).__pydantic_fields__)
            if GENAI_TYPES in sys.modules:
                own_fields(data, RECORD_FIELDS)
            self.__pydantic_validator__.validate_python(data, self_instance=self)

        # Stored events have no shorthands: pydantic fills them without calling __init__, which
        # a validator before all fields would double the cost of.
        __init__.__pydantic_base_init__ = True

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> "Event":
            """Return the event that a dict or an object describes; dicts may have shorthands."""
            if isinstance(obj, dict) and not _SHORTHANDS.isdisjoint(obj):
                obj = _without_shorthands(dict(obj), cls.__pydantic_fields__)
            return super().model_validate(obj, **options)

    @property
    def message(self) -> types.Content | None:
        """The content, under the name that workflow nodes use for it.

        It can be set to what `Event(message=...)` takes. A subclass may have a field of its own of
        this name.
        """
        if "message" in type(self).__pydantic_fields__:
            return vars(self)["message"]
        return self.content

    @message.setter
    def message(self, value: Any) -> None:
        if "message" in type(self).__pydantic_fields__:
            vars(self)["message"] = value
            self.__pydantic_fields_set__.add("message")
        else:
            self.content = _as_content(value)

    @property
    def node_name(self) -> str:
        """Name of the node or agent that runs where this event comes from; empty without a path."""
        return self.node_info.name

    def _repr_html_(self) -> str:
        """Return the event for a notebook."""
        return _lazy.load(_RENDER)(self)

    def is_final_response(self) -> bool:
        """Return whether this event ends the agent's turn (Spec 2 §2.4).

        True for a summary-skipping function response and for calls of long-running tools; otherwise
        for events without calls, without responses, not partial, and not ending in a code execution
        result. Output that broke the agent's output schema ends nothing: the model is asked again.
        """
        if self.actions.skip_summarization or self.long_running_tool_ids:
            return True
        if self.partial:
            return False
        if self.custom_metadata and REJECTED in self.custom_metadata:
            return False
        parts = self.content.parts if self.content is not None else None
        if not parts:
            return True
        if parts[-1].code_execution_result is not None:
            return False
        return all(p.function_call is None and p.function_response is None for p in parts)

    def has_trailing_code_execution_result(self) -> bool:
        """Return whether the last part is the result of executed code."""
        parts = self.content.parts if self.content is not None else None
        return bool(parts) and parts[-1].code_execution_result is not None

    @staticmethod
    def new_id() -> str:
        """Return a new event id."""
        return _clock.new_id()


def place_in_tree(event: Event, path: str) -> None:
    """Give an event of an agent outside of graphs its path; one that has another keeps that."""
    info = event.node_info
    fields = info.__dict__
    if fields["path"] in ("", path):
        # By hand: this is done to each event and each streamed piece.
        fields["path"] = path  # pyright: ignore[reportIndexIssue]
        object.__setattr__(info, "__class__", AgentPlace)


def path_in_graph(event: Event) -> str:
    """Return the path of an event that a node of a graph gave; empty for any other event."""
    info = event.node_info
    return "" if type(info) is AgentPlace else info.path


EVENT_TEMPLATE = RecordTemplate(
    lambda: Event(id="first", timestamp=0.0),  # takes no id from the source, which may be counted
    default_factories={
        "actions": ACTIONS_TEMPLATE.create,
        "node_info": RecordTemplate(NodeInfo).create,
        "id": lambda: _clock.new_id(),
        "timestamp": lambda: _clock.now(),
    },
)
"""Creates the runtime's own events, whose fields need no validation."""


def _without_shorthands(data: dict[str, Any], fields: Container[str]) -> dict[str, Any]:
    """Move the shorthand keys of `data` to the nested fields they stand for.

    Args:
      data: the keyword arguments.
      fields: names of the class's fields; of these the class makes what it wants itself.
    """
    actions = data.get("actions")
    effects: dict[str, Any] = {}
    if "state" in data and "state" not in fields:
        effects["state_delta"] = data.pop("state")
    if "route" in data and "route" not in fields:
        effects["route"] = data.pop("route")
    if effects:
        if isinstance(actions, EventActions):
            data["actions"] = actions.model_copy(update=effects)
        else:
            data["actions"] = {**(actions or {}), **effects}
    if "node_path" in data and "node_path" not in fields:
        path = data.pop("node_path")
        info = data.get("node_info")
        if isinstance(info, NodeInfo):
            data["node_info"] = info.model_copy(update={"path": path})
        else:
            data["node_info"] = {**(info or {}), "path": path}
    if "message" in data and "message" not in fields:
        message = data.pop("message")
        if message is not None and data.get("content") is not None:
            raise _validation_error(data, "Event takes either message or content, not both")
        if message is not None:
            try:
                data["content"] = _as_content(message)
            except ValidationError:
                raise
            except ValueError as error:
                raise _validation_error(data, str(error)) from None
    return data


def _as_content(message: Any) -> types.Content | None:
    """Return a message as a content: text, a part, a file or a list of these are the user's.

    Raises:
      ValueError: `message` has another type.
    """
    message = own(message)
    if message is None or isinstance(message, types.Content):
        return message
    if isinstance(message, Mapping):
        return types.Content.model_validate(message)
    return types.UserContent(message if message != "" else types.Part(text=""))


def _validation_error(data: dict[str, Any], reason: str) -> ValidationError:
    """Return the error that pydantic raises if one of its own validators refuses `data`."""
    error: InitErrorDetails = {
        "type": PydanticCustomError("value_error", "Value error, {reason}", {"reason": reason}),
        "loc": (),
        "input": data,
    }
    return ValidationError.from_exception_data("Event", [error])

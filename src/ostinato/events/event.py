"""Event: one fact of a conversation. Agents yield it, the runner commits it, callers receive it."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

from .. import _clock, types
from ..models.llm_response import LlmResponse
from ..types.blank import Blank
from .event_actions import NO_ACTIONS, EventActions

REJECTED = "ostinato:rejected"
"""Key in the custom metadata of output that broke its schema, and of the correction after it."""

_SHORTHANDS = frozenset(("state", "route", "node_path", "message"))


class NodeInfo(BaseModel):
    """Where in a graph of nodes an event comes from (Spec 4 §7).

    Attributes:
      path: segments `name@run_id`, joined by `/`; empty outside of graphs.
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
        """Run id of the segment before the last; None where there is none."""
        return self.path.rpartition("/")[0].rpartition("/")[2].partition("@")[2] or None

    @property
    def name(self) -> str:
        """Name of the last segment, without its run id."""
        return self.path.rpartition("/")[2].partition("@")[0]


class Event(LlmResponse):
    """One event of a session (Spec 2 §7.1, Spec 4 §7).

    `Event(state=..., route=..., node_path=..., message=...)` are short for `actions.state_delta`,
    `actions.route`, `node_info.path` and `content`.

    Attributes:
      invocation_id: the run this event belongs to.
      author: `user` or the name of an agent.
      actions: effects of the event.
      output: output value of a workflow node.
      node_info: place of the event in a graph of nodes.
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

    if not TYPE_CHECKING:  # pyright makes the signature of the fields; the shorthands are below

        def __init__(self, **data: Any) -> None:
            if not _SHORTHANDS.isdisjoint(data):
                data = _without_shorthands(data)
            self.__pydantic_validator__.validate_python(data, self_instance=self)

        # Stored events have no shorthands: pydantic fills them without calling __init__, which
        # a validator before all fields would double the cost of.
        __init__.__pydantic_base_init__ = True

    @property
    def message(self) -> types.Content | None:
        """The content, under the name that workflow nodes use for it."""
        return self.content

    @property
    def node_name(self) -> str:
        """Name of the node this event comes from; empty outside of graphs."""
        return self.node_info.name

    def is_final_response(self) -> bool:
        """Tell whether this event ends the agent's turn (Spec 2 §2.4).

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
        """Tell whether the last part is the result of executed code."""
        parts = self.content.parts if self.content is not None else None
        return bool(parts) and parts[-1].code_execution_result is not None

    @staticmethod
    def new_id() -> str:
        """Return a new event id."""
        return _clock.new_id()


MADE = Blank(
    Event,
    fresh={
        "actions": NO_ACTIONS.fill,
        "node_info": Blank(NodeInfo).fill,
        "id": lambda: _clock.new_id(),
        "timestamp": lambda: _clock.now(),
    },
)
"""Makes the runtime's own events, whose fields are what they should be already."""


def _without_shorthands(data: dict[str, Any]) -> dict[str, Any]:
    """Move the shorthand keys of `data` to the nested fields they stand for."""
    actions = data.get("actions")
    effects: dict[str, Any] = {}
    if "state" in data:
        effects["state_delta"] = data.pop("state")
    if "route" in data:
        effects["route"] = data.pop("route")
    if effects:
        if isinstance(actions, EventActions):
            data["actions"] = actions.model_copy(update=effects)
        else:
            data["actions"] = {**(actions or {}), **effects}
    if "node_path" in data:
        path = data.pop("node_path")
        info = data.get("node_info")
        if isinstance(info, NodeInfo):
            data["node_info"] = info.model_copy(update={"path": path})
        else:
            data["node_info"] = {**(info or {}), "path": path}
    if "message" in data:
        message = data.pop("message")
        if data.get("content") is not None:
            raise _refused(data, "Event takes either message or content, not both")
        data["content"] = types.UserContent(message) if isinstance(message, str) else message
    return data


def _refused(data: dict[str, Any], reason: str) -> ValidationError:
    """Return the error that pydantic raises where a validator of its own refuses `data`."""
    error: InitErrorDetails = {
        "type": PydanticCustomError("value_error", "Value error, {reason}", {"reason": reason}),
        "loc": (),
        "input": data,
    }
    return ValidationError.from_exception_data("Event", [error])

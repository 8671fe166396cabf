"""EventActions: the effects an event carries, applied by the runner and the session service."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from .. import types
from ..auth.tool_confirmation import ToolConfirmation
from ..types.deferred_type import deferred_type
from ..types.record_template import RecordTemplate
from .ui_widget import UiWidget

if TYPE_CHECKING:
    from ..auth.auth_tool import AuthConfig
else:
    AuthConfig = deferred_type("AuthConfig", "ostinato.auth.auth_tool")

_CONFIG = ConfigDict(
    extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True
)


class EventCompaction(BaseModel):
    """A summary that stands for a range of events (Spec 4 §8).

    Attributes:
      start_timestamp: timestamp of the first event it stands for, seconds since 1970.
      end_timestamp: timestamp of the last event it stands for.
      compacted_content: the summary.
    """

    model_config = _CONFIG

    start_timestamp: float
    end_timestamp: float
    compacted_content: types.Content


class EventActions(BaseModel):
    """Effects of an event (Spec 2 §7.2, Spec 4 §8).

    Attributes:
      skip_summarization: the model is not called again on this function response.
      state_delta: state keys and their new values; None removes a key.
      artifact_delta: artifact names and the versions that were saved.
      transfer_to_agent: name of the agent that takes over.
      escalate: leave the enclosing loop agent.
      requested_auth_configs: credentials a tool asks for, by function call id.
      requested_tool_confirmations: confirmations a tool asks for, by function call id.
      compaction: the summary of earlier events that this event brings.
      end_of_agent: the agent has finished its part of the invocation.
      agent_state: checkpoint of the agent, as JSON.
      rewind_before_invocation_id: hides everything from that invocation up to this event.
      route: value(s) that select outgoing edges of a workflow node.
      render_ui_widgets: widgets for the user interface.
      set_model_response: structured final output given through a tool.
    """

    model_config = _CONFIG

    skip_summarization: bool | None = None
    state_delta: dict[str, Any] = Field(default_factory=dict)
    artifact_delta: dict[str, int] = Field(default_factory=dict)
    transfer_to_agent: str | None = None
    escalate: bool | None = None
    requested_auth_configs: dict[str, AuthConfig] = Field(default_factory=dict)
    requested_tool_confirmations: dict[str, ToolConfirmation] = Field(default_factory=dict)
    compaction: EventCompaction | None = None
    end_of_agent: bool | None = None
    agent_state: dict[str, Any] | None = None
    rewind_before_invocation_id: str | None = None
    route: bool | int | str | list[bool | int | str] | None = None
    render_ui_widgets: list[UiWidget] | None = None
    set_model_response: Any | None = None

    def is_empty(self) -> bool:
        """Return whether there is no effect to apply or to store."""
        if any(self.__dict__.values()):
            return False
        # For these fields, an empty value is an effect, too.
        return (
            self.skip_summarization is None
            and self.escalate is None
            and self.end_of_agent is None
            and self.agent_state is None
            and self.route is None
            and self.render_ui_widgets is None
            and self.set_model_response is None
        )


ACTIONS_TEMPLATE = RecordTemplate(EventActions)
"""Creates EventActions without validation; none has an effect by default."""

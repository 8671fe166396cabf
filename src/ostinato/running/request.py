"""RunRequest: what a caller asked a runner for, on its way through the runner's parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import context
from ..context.deps import NOT_GIVEN
from ..context.invocation import new_invocation_context_id
from ..context.live_request_queue import LiveRequestQueue
from ..sessions._durable_store import Place


@dataclass(slots=True)
class RunRequest:
    """One request to run an invocation.

    Attributes:
      place: the session.
      id: names the request, and the invocation that it begins.
      message: the user's message, or function responses: Content, dict or text from the caller,
        Content or None from then on.
      invocation_id: the invocation to resume; None where one is to begin.
      state_delta: state changes that go with the message.
      config: settings of the run.
      yield_user_message: yield the message's own event first.
      once: where the invocation has begun, its stored events are all that is wanted.
      complete: whether all events are needed, those from before the newest summary too.
      live: what the user sends to a live run; None for any other.
      ends_live: whether it ends a live run whose process is gone.
      numbers: where to note the number of each event within its session, by the event's id; None
        where nobody asks.
      deps: what the caller hands to tools, instructions and callbacks.
    """

    place: Place
    id: str
    message: Any
    invocation_id: str | None
    state_delta: dict[str, Any] | None
    config: context.RunConfig
    yield_user_message: bool = False
    once: bool = False
    complete: bool = False
    live: LiveRequestQueue | None = None
    ends_live: bool = False
    numbers: dict[str, int] | None = None
    deps: Any = NOT_GIVEN

    @classmethod
    def internal(cls, place: Place, config: context.RunConfig) -> RunRequest:
        """Return the request of something that runs no agent, but needs the session to itself."""
        return cls(place, new_invocation_context_id(), None, None, None, config, complete=True)

    @property
    def needs_all(self) -> bool:
        """Whether events from before the newest summary may be needed."""
        if self.complete or self.once or self.invocation_id is not None:
            return True
        parts = (self.message.parts if self.message is not None else None) or ()
        for part in parts:
            if part.function_response is not None:
                return True
        return False

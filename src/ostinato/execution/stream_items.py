"""StreamItems: a run's events as items for clients: text, thoughts, calls, results, state changes.

The facades of other protocols read runs through it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import _clock, types
from ..events.child_event import ParentCall
from ..events.event import Event
from ..events.pending import CONFIRMATION, CREDENTIAL


@dataclass(frozen=True, slots=True)
class Opened:
    """A message or a thought starts."""

    message: str
    author: str
    thought: bool


@dataclass(frozen=True, slots=True)
class Said:
    """A message continues."""

    message: str
    text: str
    thought: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """A message is complete."""

    message: str
    text: str
    thought: bool


@dataclass(frozen=True, slots=True)
class Called:
    """A tool is called; requests of the runtime to people are left out."""

    call: types.FunctionCall
    author: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A tool has answered."""

    response: types.FunctionResponse
    event: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A file or an image that a model made, inline or by its address."""

    part: types.Part
    author: str


@dataclass(frozen=True, slots=True)
class Changed:
    """State has changed: the new values, None for deleted keys."""

    delta: Mapping[str, Any]


StreamItem = Opened | Said | Closed | Called | Answered | Shown | Changed

_ASKS = (CONFIRMATION, CREDENTIAL)
_REFUSED = frozenset(
    {
        "BLOCKLIST",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_SAFETY",
        "JAILBREAK",
        "MODEL_ARMOR",
        "PROHIBITED_CONTENT",
        "RECITATION",
        "SAFETY",
        "SPII",
    }
)


@dataclass(slots=True)
class _Open:
    """The text or thoughts of one agent in one response, in one or several messages."""

    message: str = ""
    start: int = 0
    text: str = ""

    def close(self, thought: bool) -> list[StreamItem]:
        if not self.message:
            return []
        found = Closed(self.message, self.text[self.start :], thought)
        self.message, self.start = "", len(self.text)
        return [found]


class StreamItems:
    """Converts the events of one run, in their order.

    Attributes:
      invocation: the invocation; empty before its first event.
      failure: code and message of the model's error, if its last answer was one, else None.
      cut: whether the last answer was cut at the token limit.
    """

    def __init__(self) -> None:
        self.invocation = ""
        self.failure: tuple[str, str] | None = None
        self.cut = False
        self._open: dict[tuple[str, str | None, bool], _Open] = {}

    @property
    def refused(self) -> bool:
        """Whether the last answer was blocked by a content filter."""
        return self.failure is not None and self.failure[0] in _REFUSED

    def of(self, event: Event) -> list[StreamItem]:
        """Return the items of the next event."""
        self.invocation = event.invocation_id
        found: list[StreamItem] = []
        if ParentCall.of(event) is not None:
            return found  # an agent as a tool: its answer is the tool's
        for thought in (True, False):
            self._add_text(event, thought, found)
        if event.partial:
            return found
        parts = (event.content.parts if event.content is not None else None) or ()
        for part in parts:
            if part.function_call is not None and part.function_call.name not in _ASKS:
                found.append(Called(part.function_call, event.author))
            elif part.function_response is not None and part.function_response.name not in _ASKS:
                found.append(Answered(part.function_response, event.id))
            elif part.inline_data is not None or part.file_data is not None:
                found.append(Shown(part, event.author))
        if event.actions.state_delta:
            found.append(Changed(event.actions.state_delta))
        if event.error_code:
            self.failure = (str(event.error_code), event.error_message or "")
        elif parts:
            self.failure = None
        if event.finish_reason is not None:
            self.cut = event.finish_reason == types.FinishReason.MAX_TOKENS
        return found

    def _add_text(self, event: Event, thought: bool, found: list[StreamItem]) -> None:
        """Add the event's text or thoughts."""
        parts = (event.content.parts if event.content is not None else None) or ()
        text = "".join(p.text for p in parts if p.text and bool(p.thought) == thought)
        key = (event.author, event.branch, thought)
        one = self._open.get(key)
        if one is None:
            if not text:
                return
            one = self._open[key] = _Open()
        if not event.partial:  # the full text; if a hook changed it, the sent text stays
            text = text[len(one.text) :] if text.startswith(one.text) else ""
        if text:
            other = self._open.get((event.author, event.branch, not thought))
            found += other.close(not thought) if other is not None else []
            if not one.message:
                one.message = _clock.new_id()
                found.append(Opened(one.message, event.author, thought))
            one.text += text
            found.append(Said(one.message, text, thought))
        if not event.partial:
            found += one.close(thought)
            del self._open[key]

    def end(self) -> list[StreamItem]:
        """Return the ends of the messages that a run left open."""
        left = [
            piece for (_, _, thought), one in self._open.items() for piece in one.close(thought)
        ]
        self._open.clear()
        return left

"""RunAgentInput: the request of an AG-UI client, and the parts of it that are new to a session."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_validator

from ... import types
from ...events.pending import Pending
from ..bodies import CountedParts
from ..message_files import part_from_base64, part_from_url
from ..names import CallId, Id
from ..problems import invalid_input
from ..runs import WireRecord

_RESERVED = "adk_"
_TOOLS = 128  # of one client


class Source(WireRecord):
    """Where a part's bytes are: inline as base64, or at an address."""

    type: Literal["data", "url", "file"]
    value: str
    mime_type: str | None = None


class TextPart(WireRecord):
    """Text."""

    type: Literal["text"]
    text: str


class MediaPart(WireRecord):
    """An image, sound, a video or a document."""

    type: Literal["image", "audio", "video", "document"]
    source: Source


AnyPart = Annotated[TextPart | MediaPart, Field(discriminator="type")]


class Message(WireRecord):
    """A message of a thread; activities and thoughts among them are passed over."""

    id: CallId
    role: Literal["developer", "system", "assistant", "user", "tool", "activity", "reasoning"]
    content: Annotated[str | list[AnyPart] | dict[str, Any] | None, CountedParts] = None
    tool_call_id: CallId | None = None
    error: str | None = None

    def to_parts(self, where: str) -> list[types.Part]:
        """Return its content as parts.

        Raises:
          Problem: a part cannot be read.
        """
        if isinstance(self.content, str):
            return [types.Part(text=self.content)] if self.content else []
        if not isinstance(self.content, list):
            return []
        return [_to_part(one, f"{where}.content.{n}") for n, one in enumerate(self.content)]

    def call_result(self) -> Any:
        """Return the result for the call that the message answers.

        Raises:
          Problem: a part cannot be read.
        """
        text = "".join(part.text or "" for part in self.to_parts("messages"))
        if self.error is None:
            return text
        return {"error": self.error, **({"result": text} if text else {})}


def _to_part(one: TextPart | MediaPart, where: str) -> types.Part:
    if isinstance(one, TextPart):
        return types.Part(text=one.text)
    source = one.source
    if source.type == "data":
        return part_from_base64(source.value, source.mime_type, where)
    if source.type == "url":
        return part_from_url(source.value, where, source.mime_type)
    raise invalid_input(f"{where}: uploaded files are not supported.")


class Context(WireRecord):
    """Something that the client tells the agent besides."""

    description: str
    value: str


class Tool(WireRecord):
    """A tool that the client runs.

    Attributes:
      name: what the model calls it by.
      description: what the model is told about it.
      parameters: JSON schema of an object; None for no arguments.
    """

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")
    description: str
    parameters: dict[str, Any] | None = None

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name.startswith(_RESERVED):
            raise ValueError(f"names that begin with {_RESERVED} are reserved for the runtime")
        return name

    @field_validator("parameters")
    @classmethod
    def _check_parameters(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if not schema:
            return None
        if schema.get("type", "object") != "object":
            raise ValueError("the parameters have to be the JSON schema of an object")
        properties: Any = schema.get("properties", {})
        if not isinstance(properties, dict) or not all(
            isinstance(one, dict | bool) for one in cast("dict[str, Any]", properties).values()
        ):
            raise ValueError("the properties have to be JSON schemas by name")
        required: Any = schema.get("required", [])
        if not isinstance(required, list) or not all(
            isinstance(one, str) for one in cast("list[Any]", required)
        ):
            raise ValueError("'required' has to be a list of names")
        return schema


class Resume(WireRecord):
    """The answer to an interrupt.

    Attributes:
      interrupt_id: the interrupt.
      status: whether it was answered or given up.
      payload: the answer.
    """

    interrupt_id: CallId
    status: Literal["resolved", "cancelled"]
    payload: Any = None

    def call_response(self, pending: Pending) -> dict[str, Any]:
        """Return the response to the call.

        Raises:
          Problem: the payload says a thing twice.
        """
        approval = pending.kind == "approval"
        if self.status == "cancelled":
            return {"confirmed": False} if approval else {"status": "cancelled"}
        payload: Any = self.payload
        if not isinstance(payload, dict):
            return {"confirmed" if approval else "result": payload}
        found = dict(cast("dict[str, Any]", payload))
        if approval:
            for theirs, ours in (("approved", "confirmed"), ("editedArgs", "args")):
                if theirs in found:
                    if ours in found:
                        raise invalid_input(
                            f"resume: the answer to {self.interrupt_id!r} has both {theirs!r} and "
                            f"{ours!r}. Send one of them."
                        )
                    found[ours] = found.pop(theirs)
        return found


class RunAgentInput(WireRecord):
    """A request to run an agent in a thread; the thread is a session.

    Attributes:
      thread_id: the session.
      run_id: the client's name of the run.
      parent_run_id: given back.
      state: state as the client has it; where it is an object, what differs goes into the session.
      messages: the thread as the client has it; what follows its last answer is new.
      context: goes in front of the user's words.
      resume: answers to what the run before asked for.
      tools: what the client itself can do; the agents that talk with the user are offered it.
      forwarded_props: `userId` names the user.
    """

    thread_id: Id
    run_id: Id
    parent_run_id: Id | None = None
    state: Any = None
    messages: Annotated[list[Message], CountedParts]
    tools: list[Tool] | None = Field(default=None, max_length=_TOOLS)
    context: list[Context] | None = None
    resume: list[Resume] | None = None
    forwarded_props: Any = None

    @field_validator("tools")
    @classmethod
    def _check_tools(cls, tools: list[Tool] | None) -> list[Tool] | None:
        names = [one.name for one in tools or ()]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ValueError(f"two tools have the name {name}")
        return tools

    def read_user(self) -> str:
        """Return the user of the session."""
        props: Any = self.forwarded_props
        name: Any = props.get("userId") if isinstance(props, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return name if isinstance(name, str) else "agui"

    def earlier_turns(self) -> list[types.Content]:
        """Return the earlier turns, for a thread without a session yet."""
        return self._read_turns(0, self._last_answer() + 1)

    def new_parts(self) -> list[types.Part]:
        """Return the user's new message, with instructions and context in front.

        Raises:
          Problem: a part cannot be read.
        """
        turns = self._read_turns(self._last_answer() + 1, len(self.messages))
        words = [part for one in turns for part in one.parts or ()]
        if not words:
            return []
        context = [types.Part(text=f"{one.description}: {one.value}") for one in self.context or ()]
        return [*context, *words]

    def new_text(self) -> str:
        """Return the user's new text without context; empty if it contains more than text."""
        new = [one for one in self.messages[self._last_answer() + 1 :] if one.role == "user"]
        parts = [part for one in new for part in one.to_parts("messages")]
        if any(part.text is None for part in parts):
            return ""
        return "\n\n".join(part.text or "" for part in parts)

    def call_results(self) -> list[tuple[str, Any]]:
        """Return the call results after the last answer, each with its call's id."""
        return [
            (one.tool_call_id, one.call_result())
            for one in self.messages[self._last_answer() + 1 :]
            if one.role == "tool" and one.tool_call_id is not None
        ]

    def _last_answer(self) -> int:
        """Return the index of the last answer."""
        return max(
            (n for n, one in enumerate(self.messages) if one.role == "assistant"), default=-1
        )

    def _read_turns(self, start: int, end: int) -> list[types.Content]:
        found: list[types.Content] = []
        for number in range(start, end):
            one = self.messages[number]
            if one.role in ("tool", "activity", "reasoning"):
                continue
            parts = one.to_parts(f"messages.{number}")
            if parts:
                role = "model" if one.role == "assistant" else "user"
                found.append(types.Content(role=role, parts=parts))
        return found

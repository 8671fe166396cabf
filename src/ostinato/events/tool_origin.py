"""ToolOrigin: where a tool comes from, as events, people and pages see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast, get_args

from .event import Event

TOOL_ORIGINS = "ostinato:tools"
"""Key in the custom metadata of an event with calls: the `ToolOrigin` of each call whose tool is
neither a function nor an agent of the program, as JSON by call id. The key `in_doubt` is added
if the tool's policy for calls in doubt is not the one that `policy` stands for."""
_OWN_KINDS = frozenset(("function", "agent"))

ToolKind = Literal["function", "mcp", "openapi", "agent", "skill"]
ToolPolicy = Literal["read_only", "idempotent", "rerun", "at_most_once", "ask"]
InDoubt = Literal["rerun", "at_most_once", "ask"]

_KIND_WORDS: dict[str, str] = {"mcp": "MCP server", "openapi": "API", "agent": "agent"}
_POLICY_WORDS: dict[str, str] = {
    "read_only": "only reads",
    "idempotent": "may run again",
    "rerun": "may run again",
    "at_most_once": "runs at most once",
    "ask": "asks first",
}


@dataclass(frozen=True, slots=True)
class ToolOrigin:
    """Where a tool comes from, and what a repetition of its calls may do.

    Texts of servers and documents are not trusted: the program that shows them escapes them.

    Attributes:
      kind: `function` for code of the program, `mcp`, `openapi`, `agent` or `skill`.
      source: the MCP server, the title of the API, the agent or the skill; empty for a function.
      operation: what the source calls it: the server's name of the tool, or method and path.
      policy: `read_only`: it changes nothing. `idempotent`: a repetition changes nothing more.
        `rerun`: it is run again after a crash. `at_most_once`: it is never repeated. `ask`: a
        person is asked before it runs, or before it runs again.
      address: tells apart servers and APIs with one name: a short digest of the address or command,
        empty if `source` says all of it; behind a dot, one of settings that may change.
    """

    kind: ToolKind
    source: str = ""
    operation: str = ""
    policy: ToolPolicy = "rerun"
    address: str = field(default="", compare=False)

    @property
    def is_own(self) -> bool:
        """Whether the tool is a function or an agent of the program."""
        return self.kind in _OWN_KINDS

    def is_same_tool(self, other: ToolOrigin) -> bool:
        """Return whether two origins are of one tool, whatever its policy and address are now.

        Functions and agents of the program are one kind, and skills another: an upgrade may move
        and rename what it runs. A tool from outside is that of one source under one name.
        """
        if self.is_own or other.is_own:
            return self.is_own and other.is_own
        if self.kind != other.kind or self.kind == "skill":
            return self.kind == other.kind
        return (self.source, self.operation) == (other.source, other.operation)

    @property
    def place(self) -> str:
        """What of the address stays the same as long as the server does."""
        return self.address.partition(".")[0]

    @property
    def source_text(self) -> str:
        """The source as a person reads it, such as `MCP server files`; empty for a function."""
        if self.kind == "function":
            return ""
        return f"{_KIND_WORDS.get(self.kind, self.kind)} {self.source}".strip()

    @property
    def policy_text(self) -> str:
        """The policy as a person reads it, such as `runs at most once`."""
        return _POLICY_WORDS[self.policy]

    @property
    def in_doubt(self) -> InDoubt:
        """The policy for calls in doubt that `policy` stands for."""
        return self.policy if self.policy in ("at_most_once", "ask") else "rerun"

    def to_json(self) -> dict[str, str]:
        """Return the fields as JSON, without those that are empty."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, fields: Any) -> ToolOrigin | None:
        """Return the origin that stored fields describe, or None if they describe none."""
        if not isinstance(fields, Mapping):
            return None
        known = cast("Mapping[str, Any]", fields)
        kind: Any = known.get("kind")
        policy: Any = known.get("policy", "rerun")
        if kind not in get_args(ToolKind) or policy not in get_args(ToolPolicy):
            return None
        source, operation = known.get("source", ""), known.get("operation", "")
        return cls(kind, str(source), str(operation), policy, str(known.get("address", "")))


OWN_TOOL = ToolOrigin("function")
"""The origin of a call whose event records none."""


def read_tool_origin(event: Event, call_id: str | None) -> ToolOrigin | None:
    """Return where the tool of an event's call comes from, or None for a function.

    Args:
      event: the event that holds the call.
      call_id: id of the call.
    """
    return ToolOrigin.from_json(_read_fields(event, call_id))


def read_in_doubt(event: Event, call_id: str | None) -> InDoubt | None:
    """Return the policy for calls in doubt that a call's tool had when the model called it.

    Args:
      event: the event that holds the call.
      call_id: id of the call.

    Returns:
      None for a function, whose policy events do not hold.
    """
    fields = _read_fields(event, call_id)
    origin = ToolOrigin.from_json(fields)
    if origin is None:
        return None
    own = fields.get("in_doubt")
    return own if own in get_args(InDoubt) else origin.in_doubt


def _read_fields(event: Event, call_id: str | None) -> dict[str, Any]:
    origins: Any = (event.custom_metadata or {}).get(TOOL_ORIGINS)
    fields: Any = None
    if isinstance(origins, dict):
        fields = cast("dict[str, Any]", origins).get(call_id or "")
    return cast("dict[str, Any]", fields) if isinstance(fields, dict) else {}

"""ToolOrigin: where a tool comes from, as events, people and pages see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from .event import Event

TOOL_ORIGINS = "ostinato:tools"
"""Key in the custom metadata of an event with calls: the `ToolOrigin` of each call whose tool is
neither a function nor an agent of the program, as JSON by call id."""
_OWN = frozenset(("function", "agent"))

ToolKind = Literal["function", "mcp", "openapi", "agent", "skill"]
ToolPolicy = Literal["read_only", "idempotent", "rerun", "at_most_once", "ask"]

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
    """

    kind: ToolKind
    source: str = ""
    operation: str = ""
    policy: ToolPolicy = "rerun"

    @property
    def is_own(self) -> bool:
        """Whether the tool is a function or an agent of the program."""
        return self.kind in _OWN

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
        return cls(kind, str(source), str(operation), policy)


def read_tool_origin(event: Event, call_id: str | None) -> ToolOrigin | None:
    """Return where the tool of an event's call comes from, or None for a function.

    Args:
      event: the event that holds the call.
      call_id: id of the call.
    """
    origins: Any = (event.custom_metadata or {}).get(TOOL_ORIGINS)
    if not isinstance(origins, dict):
        return None
    return ToolOrigin.from_json(cast("dict[str, Any]", origins).get(call_id or ""))

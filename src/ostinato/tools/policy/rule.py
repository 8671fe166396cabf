"""Rule: which tool calls it is about, its verdict, its grants and its limit."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from .conditions import (
    NEGATIONS,
    Bound,
    Condition,
    as_condition,
    compile_pattern,
    covers_pattern,
    split_pointer,
)

Verdict = Literal["allow", "ask", "deny"]
STRICTNESS: dict[str, int] = {"allow": 0, "ask": 1, "deny": 2}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_WORDS = {"minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_DURATION = re.compile(r"([1-9][0-9]{0,5})([smhdw])")
_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,79}")
KINDS = ("function", "mcp", "openapi", "agent", "skill")


def read_seconds(text: str) -> int:
    """Return the seconds of a duration such as `hour`, `30m`, `24h` or `7d`.

    Raises:
      ValueError: the text is not a duration.
    """
    found = _DURATION.fullmatch(text)
    if found is None and text not in _WORDS:
        raise ValueError(
            f"{text!r} is no duration: write minute, hour, day, week, or a number with s, m, h, d "
            "or w, such as 30m"
        )
    return _WORDS[text] if found is None else int(found[1]) * _UNITS[found[2]]


def _find_source_fault(pattern: str) -> str:
    """Return why a pattern of sources can fit none; empty if it may fit one."""
    kind, colon, rest = pattern.partition(":")
    known = [one for one in KINDS if compile_pattern(kind)(one)]
    if not known:
        return f"there are: {', '.join(KINDS)}"
    if any(sign in kind for sign in "*?["):
        return ""  # a star may stand for what follows the colon, too
    if kind == "function":
        return "a function has no more to its source; write 'function'" if colon else ""
    if not rest:
        return f"write '{kind}:*' for all of this kind"
    if kind == "openapi" and "/" not in rest and not any(sign in rest for sign in "*?["):
        return f"write '{pattern}/*' for all operations of the API"
    inside = rest.partition("/")[2]
    if kind == "skill" and "/" not in rest and not any(sign in rest for sign in "*?["):
        return f"write '{pattern}/*' for all scripts of the skill"
    is_plain = not any(sign in rest for sign in "*?[")
    if kind == "skill" and is_plain and not inside.startswith("scripts/"):
        return (
            f"scripts lie below scripts/; write '{kind}:{rest.partition('/')[0]}/scripts/{inside}'"
        )
    return ""


def _as_list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _check_pointer(pointer: str) -> str:
    split_pointer(pointer)
    return pointer


Patterns = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(_as_list),
    Field(min_length=1),
]
Pointer = Annotated[str, BeforeValidator(_check_pointer)]
Conditions = dict[Pointer, Annotated[Condition, BeforeValidator(as_condition)]]


class Limit(BaseModel):
    """How many calls, or how much of an argument, a rule lets through within a sliding window.

    Attributes:
      per: the window: `minute`, `hour`, `day`, `week` or a duration such as `15m`.
      count: how many calls.
      sum: pointer to the argument that is added up; not negative.
      max: the highest sum.
      by: whose calls are counted together: those of a `user`, a `session` or the whole `app`.
      over: what happens to the call that exceeds the limit: `deny` or `ask`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    per: str
    count: int | None = Field(default=None, ge=1, strict=True)
    sum: Pointer | None = None
    max: Annotated[Bound, Field(ge=0)] | None = None
    by: Literal["user", "session", "app"] = "user"
    over: Literal["ask", "deny"] = "deny"

    @field_validator("per")
    @classmethod
    def _check_per(cls, value: str) -> str:
        read_seconds(value)
        return value

    def model_post_init(self, context: Any, /) -> None:
        """Check that the limit limits something.

        Raises:
          ValueError: neither a count nor a sum is given, or a sum without `max`.
        """
        if self.count is None and self.sum is None:
            raise ValueError("the limit needs `count`, or `sum` and `max`")
        if (self.sum is None) != (self.max is None):
            raise ValueError("`sum` and `max` belong together: an argument, and its highest sum")

    @property
    def seconds(self) -> int:
        """The length of the window."""
        return read_seconds(self.per)


class Rule(BaseModel):
    """One rule: a call that fits all its fields gets its verdict.

    Patterns are those of a shell; in a list, one that begins with `!` takes out what it fits.

    Attributes:
      id: names the rule in decisions, grants and reports; unique in the policy.
      verdict: `allow`, `ask` or `deny`.
      agent: patterns of the names of the agents that call.
      tool: patterns of tool names.
      source: patterns of where the tool comes from: `function`, `mcp:SERVER/TOOL`,
        `openapi:API/OPERATION`, `agent:NAME` or `skill:NAME/SCRIPT`.
      user: patterns of user ids.
      args: conditions on arguments by JSON pointer; a plain value stands for `equals`.
      state: conditions on the session's state by JSON pointer, such as `/user:tier`.
      grants: what a person who approves may grant beyond the one call: `session`, `user`, or a
        duration such as `24h`.
      same: pointers to arguments whose values a grant is bound to.
      limit: how often the rule lets calls through.
      message: what the model reads when the call is denied, and the person when it is asked about.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    id: str
    verdict: Verdict
    agent: Patterns = ("*",)
    tool: Patterns = ("*",)
    source: Patterns = ("*",)
    user: Patterns = ("*",)
    args: Conditions = Field(default_factory=dict)
    state: Conditions = Field(default_factory=dict)
    grants: tuple[str, ...] = ()
    same: tuple[Pointer, ...] = ()
    limit: Limit | None = None
    message: str = ""

    if TYPE_CHECKING:  # what the validators take, for type checkers

        def __init__(
            self,
            *,
            id: str,
            verdict: Verdict,
            agent: str | Sequence[str] = ...,
            tool: str | Sequence[str] = ...,
            source: str | Sequence[str] = ...,
            user: str | Sequence[str] = ...,
            args: Mapping[str, Any] = ...,
            state: Mapping[str, Any] = ...,
            grants: Sequence[str] = ...,
            same: Sequence[str] = ...,
            limit: Limit | None = ...,
            message: str = ...,
        ) -> None: ...

    @field_validator("agent", "tool", "source", "user")
    @classmethod
    def _check_ranges(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            if "(?!)" in fnmatch.translate(pattern):
                raise ValueError(
                    f"{pattern!r} fits nothing: a range such as [a-z] goes from the lower "
                    "character to the higher one"
                )
        return value

    @field_validator("args", "state")
    @classmethod
    def _check_below(cls, value: dict[str, Condition]) -> dict[str, Condition]:
        absent = [pointer for pointer, one in value.items() if one.exists is False]
        for pointer, one in value.items():
            above = next((other for other in absent if pointer.startswith(f"{other}/")), None)
            is_found = one.exists is not False and one.model_fields_set.isdisjoint(NEGATIONS)
            if above is not None and is_found:
                raise ValueError(
                    f"no call meets {above!r} and {pointer!r}: what does not exist has nothing "
                    "below it; take one of them out"
                )
        return value

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str) -> str:
        if _ID.fullmatch(value) is None:
            raise ValueError("an id has 1 to 80 letters, digits, `_`, `-` and `.`")
        return value

    @field_validator("source")
    @classmethod
    def _check_source(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            fault = _find_source_fault(pattern.removeprefix("!"))
            if fault:
                raise ValueError(f"{pattern!r} fits no source: {fault}")
        return value

    @field_validator("grants")
    @classmethod
    def _check_grants(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for grant in value:
            if grant not in ("session", "user"):
                read_seconds(grant)
        return value

    def model_post_init(self, context: Any, /) -> None:
        """Check that the fields go together.

        Raises:
          ValueError: a field has no effect beside the others.
        """
        if self.grants and self.verdict != "ask":
            raise ValueError("`grants` needs the verdict `ask`")
        if self.same and not self.grants:
            raise ValueError("`same` needs `grants`")
        if self.limit is not None and self.verdict == "deny":
            raise ValueError("a rule that denies lets no call through that `limit` could count")
        if self.message and self.verdict == "allow" and self.limit is None:
            raise ValueError("`message` is never shown: the rule allows, and has no limit")

    @classmethod
    def allow_only(cls, id: str, tools: Sequence[str], **fields: Any) -> Rule:
        """Return a rule that denies every tool except some, as `allowed-tools` of a skill does.

        Args:
          id: the rule's id.
          tools: patterns of the tools that stay allowed.
          **fields: further fields, such as the `state` in which the rule applies.
        """
        return cls(id=id, verdict="deny", tool=("*", *(f"!{one}" for one in tools)), **fields)

    @property
    def digest(self) -> str:
        """A hash of the rule: a grant ends when its rule changes."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


def fits(patterns: Sequence[str], text: str) -> bool:
    """Return whether a text fits one of the patterns, and none that begins with `!`.

    Patterns that all begin with `!` take something out of everything.
    """
    if patterns == ("*",):
        return True
    found = all(pattern.startswith("!") for pattern in patterns)
    for pattern in patterns:
        if pattern.startswith("!"):
            if compile_pattern(pattern[1:])(text):
                return False
        elif not found:
            found = compile_pattern(pattern)(text) is not None
    return found


def fits_nothing(patterns: Sequence[str]) -> bool:
    """Return whether the patterns that begin with `!` surely take out all that the others fit."""
    taken = [one[1:] for one in patterns if one.startswith("!")]
    given = [one for one in patterns if not one.startswith("!")] or ["*"]
    return all(any(covers_pattern(wide, one) for wide in taken) for one in given)

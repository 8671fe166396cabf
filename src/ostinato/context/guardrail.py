"""Guardrails: checks of what goes into an agent and of what comes out of it. Agents and apps take
them; `agents/guarded_run.py` runs them.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, JsonValue, field_validator
from pydantic.alias_generators import to_camel

from .. import types
from ..errors import CallbackError
from .readonly import ReadonlyContext

GUARDRAIL = "guardrail"
"""Key in the custom metadata of an event that holds what a guardrail found."""

TRIPPED = "GUARDRAIL_TRIPPED"
"""Error code of the event with which a guardrail has ended a run."""

Stage = Literal["input", "output"]


class GuardrailResult(BaseModel):
    """What a guardrail found.

    Attributes:
      tripwire: whether the run ends here.
      info: what else there is to say of it, as JSON; it is kept in the log.
      message: what the user is told where it trips: text or Content.
    """

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )

    tripwire: bool = False
    info: JsonValue = None
    message: types.Content | None = None

    @field_validator("message", mode="before")
    @classmethod
    def _as_content(cls, value: Any) -> Any:
        return types.ModelContent(value) if isinstance(value, str) else value


Check = Callable[
    [ReadonlyContext, types.Content], GuardrailResult | Awaitable[GuardrailResult | None] | None
]


@dataclass(frozen=True, slots=True)
class Guardrail:
    """A check of content, with how it is run.

    Attributes:
      check: a function, plain or async, of the context and the content; None says that all is well.
      name: name in events and errors; the function's where empty.
      blocking: for input: run it before the agent does anything; False runs it beside the agent's
        first model call, which is cancelled where it trips.
      on_trip: `end` ends the run with an event; `raise` raises GuardrailTrippedError after it.
    """

    check: Check
    name: str = ""
    blocking: bool = True
    on_trip: Literal["end", "raise"] = "end"

    def __post_init__(self) -> None:
        if not self.name:
            given = getattr(self.check, "__name__", "") or type(self.check).__name__
            object.__setattr__(self, "name", given)

    async def run(self, ctx: ReadonlyContext, content: types.Content) -> GuardrailResult:
        """Check content.

        Raises:
          CallbackError: the check gave back something else than a GuardrailResult or None.
          Exception: what the check raised, with a note that names it and the agent.
        """
        try:
            found = self.check(ctx, content)
            if inspect.isawaitable(found):
                found = await cast(Awaitable[Any], found)
        except Exception as error:  # boundary: it says which check it comes from
            error.add_note(f"raised by guardrail {self.name!r} of agent {ctx.agent_name!r}")
            raise
        if found is None:
            return GuardrailResult()
        if not isinstance(cast(Any, found), GuardrailResult):
            raise CallbackError(
                f"Agent {ctx.agent_name!r}: guardrail {self.name!r} returned "
                f"{type(found).__name__}; it must return GuardrailResult or None."
            )
        return found


def guardrail(
    *, name: str = "", blocking: bool = True, on_trip: Literal["end", "raise"] = "end"
) -> Callable[[Check], Guardrail]:
    """Make a guardrail of a function, as a decorator; arguments as in `Guardrail`."""

    def make(check: Check) -> Guardrail:
        return Guardrail(check, name, blocking, on_trip)

    return make


def as_guardrails(value: Any) -> list[Guardrail]:
    """Return guardrails given as one or several, or as plain functions, as a list of Guardrail.

    Raises:
      ValueError: one of them can not be called.
    """
    items = cast(list[Any], value) if isinstance(value, list | tuple) else [value]
    for item in items:
        if not isinstance(item, Guardrail) and not callable(item):
            raise ValueError(
                f"guardrails are functions or Guardrail objects; got {type(item).__name__}: "
                f"{item!r:.80}"
            )
    return [item if isinstance(item, Guardrail) else Guardrail(item) for item in items]


@dataclass(frozen=True, slots=True)
class Guards:
    """Guardrails that hold for a run, each with whose it is: the app's, or an agent's by name."""

    input: tuple[tuple[str, Guardrail], ...]
    output: tuple[tuple[str, Guardrail], ...]

    @classmethod
    def of(cls, owner: str, holder: Any) -> Guards:
        """Return the guardrails of an app or an agent."""
        return cls(
            tuple((owner, one) for one in holder.input_guardrails),
            tuple((owner, one) for one in holder.output_guardrails),
        )

    def __add__(self, other: Guards) -> Guards:
        return Guards(self.input + other.input, self.output + other.output)

    def __bool__(self) -> bool:
        return bool(self.input or self.output)

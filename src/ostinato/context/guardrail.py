"""Guardrails: checks of an agent's input and output; `agents/guarded_run.py` runs them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, JsonValue, field_validator
from pydantic.alias_generators import to_camel

from .. import types
from .._lists import is_several
from ..errors import CallbackError
from .readonly import ReadonlyContext

GUARDRAIL = "guardrail"
"""Key of a guardrail's result in the custom metadata of an event."""

TRIPPED = "GUARDRAIL_TRIPPED"
"""Error code of the event of a guardrail that ended a run."""

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

    if TYPE_CHECKING:  # what the validator below makes a Content of

        def __init__(
            self,
            *,
            tripwire: bool = False,
            info: JsonValue = None,
            message: types.Content | str | None = None,
        ) -> None: ...

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
      check: a function, plain or async, of the context and the content; None means no objection.
      name: name in events and errors; the function's by default.
      blocking: for input: run it before the agent; False runs it beside the agent's first model
        call, which is cancelled if it trips.
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
          CallbackError: the check returned neither a GuardrailResult nor None.
          Exception: an error of the check, with a note that names it and the agent.
        """
        try:
            found = self.check(ctx, content)
            if inspect.isawaitable(found):
                found = await cast(Awaitable[Any], found)
        except Exception as error:  # boundary: add the name of the check
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
    items: list[Any] = list(value) if is_several(value) else [value]
    for item in items:
        if not isinstance(item, Guardrail) and not callable(item):
            raise ValueError(
                f"guardrails are functions or Guardrail objects; got {type(item).__name__}: "
                f"{item!r:.80}"
            )
    return [item if isinstance(item, Guardrail) else Guardrail(item) for item in items]


@dataclass(frozen=True, slots=True)
class Guards:
    """Guardrails of a run, each with the name of its app or agent."""

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

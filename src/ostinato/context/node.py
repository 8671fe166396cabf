"""BaseNode: the common base of agents and workflow nodes, which run on one engine.

`ostinato.workflow` re-exports it, and has the graphs.
"""

import random
import re
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, field_validator

from .._aclosing import Aclosing

_ATTEMPTS, _DELAY, _LONGEST, _FACTOR, _JITTER = 5, 1.0, 60.0, 2.0, 1.0


class RetryConfig(BaseModel):
    """How often and how fast a failing node is run again (FEATURES A.25).

    Attributes:
      max_attempts: attempts in all, the first included; 5 where None or 0.
      initial_delay: pause before the second attempt, in seconds; 1 where None.
      max_delay: longest pause, in seconds; 60 where None.
      backoff_factor: what each pause is multiplied by for the next; 2 where None.
      jitter: random share of a pause that is added to it or taken off, 0 to 1; 1 where None.
      exceptions: exception classes, or their names, that are retried, their subclasses too; all
        where None.
    """

    model_config = ConfigDict(defer_build=True)

    max_attempts: int | None = None
    initial_delay: float | None = None
    max_delay: float | None = None
    backoff_factor: float | None = None
    jitter: float | None = None
    exceptions: list[str | type[BaseException]] | None = None

    @field_validator("exceptions", mode="after")
    @classmethod
    def _as_names(cls, value: list[Any] | None) -> list[str] | None:
        if value is None:
            return None
        return [x if isinstance(x, str) else x.__name__ for x in value]

    @property
    def attempts(self) -> int:
        """Attempts in all."""
        return self.max_attempts or _ATTEMPTS

    def pause_after(self, attempt: int, error: BaseException) -> float | None:
        """Return the seconds to wait before the next attempt, or None for no further attempt.

        Args:
          attempt: number of the attempt that failed, from 1.
          error: what it raised.
        """
        if attempt >= self.attempts or not self._is_retried(error):
            return None
        first = _DELAY if self.initial_delay is None else self.initial_delay
        factor = _FACTOR if self.backoff_factor is None else self.backoff_factor
        longest = _LONGEST if self.max_delay is None else self.max_delay
        jitter = _JITTER if self.jitter is None else self.jitter
        try:
            pause = min(longest, first * factor ** (attempt - 1))
        except OverflowError:
            pause = longest
        return max(0.0, pause * (1 + jitter * random.uniform(-1, 1)))

    def _is_retried(self, error: BaseException) -> bool:
        if self.exceptions is None:
            return True
        return any(kind.__name__ in self.exceptions for kind in type(error).__mro__)


class BaseNode(BaseModel):
    """A named step that can be run: an agent, or a node of a workflow (Spec 4 §3, FEATURES A.25).

    Attributes:
      name: identifier, unique among its siblings.
      description: what the node does, for people and for models that choose.
      rerun_on_resume: run the node again when a paused run that it was part of resumes.
      wait_for_output: whether successors wait until the node gives an output.
      retry_config: what to do when the node raises. An agent outside of graphs is retried only
        before its first complete event.
      timeout: seconds after which an attempt is stopped with NodeTimeoutError.
      input_schema: type of the node's input.
      output_schema: type of the node's output.
      state_schema: pydantic model that unprefixed state writes must fit.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    #: Whether the node runs a graph of its own and handles the events and errors in it.
    runs_graph: ClassVar[bool] = False
    #: What errors call it.
    kind_name: ClassVar[str] = "Node"

    name: str
    description: str = ""
    rerun_on_resume: bool = False
    wait_for_output: bool = False
    retry_config: RetryConfig | None = None
    timeout: float | None = None
    input_schema: Any = None
    output_schema: Any = None
    state_schema: type[BaseModel] | None = None

    @field_validator("name", mode="after")
    @classmethod
    def _check_identifier(cls, value: str) -> str:
        if not value.isidentifier():
            valid = re.sub(r"\W|^(?=\d)", "_", value) or "my_agent"
            raise ValueError(
                f"{cls.kind_name} name {value!r} must be a valid Python identifier, such as "
                f"{valid!r}."
            )
        return value

    @property
    def nodes_within(self) -> "list[BaseNode]":
        """The nodes that this one is made of; none for most."""
        return []

    async def run(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Run the node and yield what it gives: events, requests, its output.

        Args:
          ctx: the node's context.
          node_input: the input, of type `input_schema` where that is set.
        """
        async with Aclosing(self._run_impl(ctx=ctx, node_input=node_input)) as events:
            async for event in events:
                yield event

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Do the node's work; subclasses override it.

        Yields:
          Events, `RequestInput`s, or any other value, which is the node's output; one at most.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement _run_impl")
        yield

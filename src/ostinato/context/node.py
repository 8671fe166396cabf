"""BaseNode: what agents and workflow nodes have in common, so that both run on one engine.

`ostinato.workflow` re-exports it. Graph execution itself is not built yet.
"""

from collections.abc import AsyncGenerator
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from .._aclosing import Aclosing


class RetryConfig(BaseModel):
    """How often and how fast a failing node is run again (FEATURES A.25).

    Attributes:
      max_attempts: attempts in all, the first included.
      initial_delay: pause before the second attempt, in seconds.
      max_delay: longest pause, in seconds.
      backoff_factor: what each pause is multiplied by for the next.
      jitter: random share of a pause that is added to it, 0 to 1.
      exceptions: exception classes, or their names, that are retried; all where None.
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


class BaseNode(BaseModel):
    """A named step that can be run: an agent, or a node of a workflow (Spec 4 §3, FEATURES A.25).

    Attributes:
      name: identifier, unique among its siblings.
      description: what the node does, for people and for models that choose.
      rerun_on_resume: run the node again when a paused run that it was part of goes on.
      wait_for_output: whether successors wait until the node gives an output.
      retry_config: what to do when the node raises.
      timeout: seconds after which the node is stopped.
      input_schema: type of the node's input.
      output_schema: type of the node's output.
      state_schema: pydantic model that unprefixed state writes must fit.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

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
            raise ValueError(f"Node name {value!r} must be a valid Python identifier.")
        return value

    async def run(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Run the node and yield its events.

        Args:
          ctx: the node's context.
          node_input: the input, of type `input_schema` where that is set.
        """
        async with Aclosing(self._run_impl(ctx=ctx, node_input=node_input)) as events:
            async for event in events:
                yield event

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Do the node's work; subclasses override it."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _run_impl")
        yield

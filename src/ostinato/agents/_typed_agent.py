"""TypedAgent: `Agent[Deps, Output]` for the type checker; at run time it is a BaseAgent.

Only agents with a model are generic; the output of a shell agent is that of its last agent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine
from typing import TYPE_CHECKING, Any

from typing_extensions import TypeVar

from ..context.deps import NOT_GIVEN, Deps, NotGiven
from ..context.run_config import RunConfig
from ._runnable_node import Message
from .agent_run_result import AgentRunResult, Output
from .base_agent import BaseAgent

Text = TypeVar("Text", default=str)
"""Output of an agent with a model: text unless it has an `output_schema`."""

if TYPE_CHECKING:
    from typing import Generic, overload

    class TypedAgent(BaseAgent, Generic[Deps, Output]):
        """An agent with typed deps and output."""

        deps_type: type[Deps] | Any = None

        @overload
        def run(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]: ...
        @overload
        def run(
            self,
            message: Message,
            *,
            deps: Deps | NotGiven = NOT_GIVEN,
            state: dict[str, Any] | None = None,
            run_config: RunConfig | None = None,
        ) -> Coroutine[Any, Any, AgentRunResult[Output]]: ...
        def run(self, *_: Any, **__: Any) -> Any:
            """See RunnableNode."""

        def run_sync(
            self,
            message: Message,
            *,
            deps: Deps | NotGiven = NOT_GIVEN,
            state: dict[str, Any] | None = None,
            run_config: RunConfig | None = None,
        ) -> AgentRunResult[Output]:
            """See RunnableNode."""
            raise NotImplementedError

else:

    class TypedAgent(BaseAgent):
        """One class for all parameters, so that `type(agent) is LlmAgent` holds."""

        def __class_getitem__(cls, parameters):
            return cls

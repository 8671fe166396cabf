"""BaseTool: what an agent can call. Every tool derives from it; the flow calls `run_async`."""

from __future__ import annotations

import copy
from abc import ABC
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

from .. import types
from ..errors import AgentConfigError
from ..models.llm_request import LlmRequest
from .tool_arguments import arguments_for
from .tool_configs import ToolArgsConfig

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


InDoubt = Literal["rerun", "at_most_once", "ask"]
CheckInDoubt = Callable[[dict[str, Any], Any], Any]


class BaseTool(ABC):  # noqa: B024 - a tool that only changes the request overrides neither method
    """A tool of an agent (Spec 1 §10, FEATURES row 128).

    Args:
      name: what the model calls it by.
      description: what the model is told about it.
      is_long_running: the result comes later, as a function response of the client.
      custom_metadata: JSON of the developer's, for whoever lists tools.
      in_doubt: what becomes of a call that had begun when its process died, so that nobody knows
        whether it took effect. `rerun`: it runs again with the same `tool_context.idempotency_key`,
        and its response event says so in `custom_metadata["ostinato:rerun"]`. `at_most_once`: the
        model is told that the outcome is unknown. `ask`: the user is asked. The default is `rerun`,
        or `ask` for tools that require confirmation.
      check: finds out instead, by the call's arguments and the tool context; plain or async. A dict
        is the call's result, None says that it did not take effect and runs it.

    Attributes:
      repeatable: whether a call does nothing twice that should be done once; it is run again
        without further ado.
      asks_first: whether `run_async` asks the user before it does anything. It then calls
        `begin_call` of the invocation context itself, once it may go on.
      wants_own_agent: whether, beside other tools, the tool that `in_own_agent` returns takes its
        place.

    Raises:
      AgentConfigError: `in_doubt` is none of these.
    """

    repeatable: ClassVar[bool] = False
    asks_first: bool = False
    wants_own_agent: bool = False
    in_doubt: InDoubt = "rerun"
    in_doubt_check: CheckInDoubt | None = None

    def __init__(
        self,
        *,
        name: str,
        description: str,
        is_long_running: bool = False,
        custom_metadata: dict[str, Any] | None = None,
        in_doubt: InDoubt | None = None,
        check: CheckInDoubt | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.is_long_running = is_long_running
        self.custom_metadata = custom_metadata
        if in_doubt is not None:
            if in_doubt not in get_args(InDoubt):
                raise AgentConfigError(
                    f"Tool {name!r}: in_doubt is {in_doubt!r}, but must be one of "
                    f"{', '.join(get_args(InDoubt))}."
                )
            self.in_doubt = in_doubt
        if check is not None:
            self.in_doubt_check = check

    def in_own_agent(self, make_agent: Callable[..., Any]) -> BaseTool:
        """Return this tool as it stands beside others.

        Args:
          make_agent: makes an agent with the model of the one that has this tool; takes the fields
            of an LlmAgent.
        """
        return self

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """Make a tool of the `args` in a file; a class that needs more overrides this.

        Each argument goes to the parameter of that name. One that takes a function is given what
        the dotted name names; one that takes records is given records.

        Args:
          config: the arguments.
          config_abs_path: the file that they are from.

        Raises:
          AgentFileError: the class takes no such argument.
        """
        return cls(**arguments_for(cls, config))

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        """Return what the model is told of this tool; None where it is not told of it.

        The record is shared by all requests: never change it.
        """
        return None

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run the tool.

        Args:
          args: what the model gave, by parameter name; this call's own copy.
          tool_context: state, actions and services of this call.

        Returns:
          The result; anything but a dict reaches the model as `{"result": value}`.
        """
        raise NotImplementedError(
            f"Tool {self.name!r}: {type(self).__name__} does not implement run_async"
        )

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add this tool to a request before it is sent (Spec 2 §3.9).

        Args:
          tool_context: context of the step.
          llm_request: the request, changed in place.
        """
        llm_request.append_tools([self])

    def renamed(self, name: str) -> Self:
        """Return a copy of this tool that the model knows by another name."""
        other = copy.copy(self)
        other.name = name

        def get_declaration() -> types.FunctionDeclaration | None:
            declaration = self._get_declaration()
            return declaration and declaration.model_copy(update={"name": name})

        other._get_declaration = get_declaration
        return other

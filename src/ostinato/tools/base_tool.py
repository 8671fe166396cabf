"""BaseTool: what an agent can call. Every tool derives from it; the flow calls `run_async`."""

from __future__ import annotations

import copy
from abc import ABC
from typing import TYPE_CHECKING, Any, Self

from .. import types
from .._later_on import Missing
from ..models.llm_request import LlmRequest

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class BaseTool(ABC):  # noqa: B024 - a tool that only changes the request overrides neither method
    """A tool of an agent (Spec 1 §10, FEATURES row 128).

    Args:
      name: what the model calls it by.
      description: what the model is told about it.
      is_long_running: the result comes later, as a function response of the client.
      custom_metadata: JSON of the developer's, for whoever lists tools.
    """

    def __init__(
        self,
        *,
        name: str,
        description: str,
        is_long_running: bool = False,
        custom_metadata: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.is_long_running = is_long_running
        self.custom_metadata = custom_metadata

    @classmethod
    def from_config(cls, config: Any, config_abs_path: str) -> Self:
        """Not built yet: make a tool of its description in YAML.

        Raises:
          NotImplementedError: always; it says what to do instead.
        """
        raise Missing(
            f"{cls.__name__}.from_config", "agents described in YAML", "build the tool in Python"
        ).error()

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

"""EnvironmentToolset: an environment's commands and files as tools of an agent."""

from __future__ import annotations

from typing import Any

from ...context.context import Context as ToolContext
from ...context.readonly import ReadonlyContext
from ...environment import BaseEnvironment
from ...errors import AgentConfigError
from ...models.llm_request import LlmRequest
from ..base_tool import BaseTool
from ..base_toolset import BaseToolset
from ._environment_tools import EditFileTool, ExecuteTool, ReadFileTool, WriteFileTool

_MAX_OUTPUT_CHARS = 30_000
_RULES = """\
Your environment is at {folder}/

Rules of the environment:
- Read files with `ReadFile` and change them with `EditFile`, not with commands of the shell.
- Chain commands that depend on each other with `&&` in one call of `Execute`: several calls in one
  response run at the same time.
- Do not call `Execute` in the same response as `ReadFile` or `EditFile`. Call the file tool first
  and `Execute` in the next turn.
"""


class EnvironmentToolset(BaseToolset):
    """Offers `Execute`, `ReadFile`, `EditFile` and `WriteFile`, and tells the model the rules.

    The environment is initialized at the first use and closed with the toolset.

    Args:
      environment: where commands run and files lie.
      max_output_chars: characters of a command's stdout and stderr, and of a file, that the model
        is told; the rest is cut off. 30,000 by default.
      **kwargs: `tool_filter` and `tool_name_prefix`, as for BaseToolset.

    Raises:
      AgentConfigError: `max_output_chars` is not positive.
    """

    def __init__(
        self,
        *,
        environment: BaseEnvironment,
        max_output_chars: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        longest = _MAX_OUTPUT_CHARS if max_output_chars is None else max_output_chars
        if longest <= 0:
            raise AgentConfigError(
                f"EnvironmentToolset: max_output_chars is {longest}, but must be more than 0."
            )
        self._environment = environment
        self._is_ready = False
        self._tools: list[BaseTool] = [
            ExecuteTool(environment, longest),
            ReadFileTool(environment, longest),
            EditFileTool(environment),
            WriteFileTool(environment),
        ]

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools that the filter lets through."""
        await self._prepare()
        return [tool for tool in self._tools if self._is_tool_selected(tool, readonly_context)]

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Tell the model where it works and how to use the tools."""
        await self._prepare()
        folder = str(self._environment.working_dir).rstrip("/")
        llm_request.append_instructions([_RULES.format(folder=folder)])

    async def close(self) -> None:
        """Close the environment if the toolset has used it."""
        if self._is_ready:
            self._is_ready = False
            await self._environment.close()

    async def _prepare(self) -> None:
        if not self._is_ready:
            await self._environment.initialize()
            self._is_ready = True

"""McpInstructionProvider: an agent's instruction from a prompt of an MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from ..context.readonly import ReadonlyContext
from ..errors import AgentConfigError, NotFoundError
from ..tools.mcp.mcp_toolset import McpToolset


class McpInstructionProvider:
    """An instruction from a prompt, with arguments from the state (google-adk's class).

    Give it to an agent as its `instruction`. Arguments of the prompt are state keys of their names.

    Args:
      connection_params: how to reach the server, as for McpToolset.
      prompt_name: the prompt.
      errlog: where a server on standard input and output writes its errors.
      **options: further arguments of McpToolset: `header_provider`, `auth_scheme` and others.
    """

    def __init__(
        self,
        connection_params: Any,
        prompt_name: str,
        errlog: TextIO | None = None,
        **options: Any,
    ) -> None:
        self.prompt_name = prompt_name
        self._toolset = McpToolset(connection_params=connection_params, errlog=errlog, **options)

    async def __call__(self, context: ReadonlyContext) -> str:
        """Return the prompt's texts, one after the other.

        Raises:
          NotFoundError: the server has no such prompt.
          AgentConfigError: the state lacks an argument that the prompt requires, or the prompt
            holds no text.
          McpConnectionError, McpCallError: the server cannot be reached, or answers with an error.
        """
        prompts = await self._toolset.list_prompts(context)
        prompt = next((one for one in prompts if one["name"] == self.prompt_name), None)
        if prompt is None:
            raise NotFoundError(
                f"MCP server {self._toolset.label} has no prompt {self.prompt_name!r}; it has: "
                f"{', '.join(one['name'] for one in prompts) or 'none'}."
            )
        arguments = self._read_arguments(prompt.get("arguments") or [], context.state)
        result = await self._toolset.get_prompt(self.prompt_name, arguments, context)
        contents = [message.content for message in result.messages]
        text = "".join(one.text for one in contents if one.type == "text")
        if not text:
            raise AgentConfigError(
                f"Prompt {self.prompt_name!r} of MCP server {self._toolset.label} holds no text, "
                "so it cannot be an instruction."
            )
        return text

    async def close(self) -> None:
        """Close the connection."""
        await self._toolset.close()

    def _read_arguments(
        self, wanted: list[dict[str, Any]], state: Mapping[str, Any]
    ) -> dict[str, str]:
        missing = [
            one["name"] for one in wanted if one.get("required") and state.get(one["name"]) is None
        ]
        if missing:
            raise AgentConfigError(
                f"Prompt {self.prompt_name!r} of MCP server {self._toolset.label} requires "
                f"{', '.join(missing)}, which the session's state does not hold."
            )
        names = [one["name"] for one in wanted]
        return {name: str(state[name]) for name in names if state.get(name) is not None}

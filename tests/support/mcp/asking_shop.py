"""An MCP server whose tool asks the user something before it has an effect."""

from typing import Any

from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server

from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset

FORM = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}


class Shop:
    """A server whose tool `order` asks for a size before it orders.

    Args:
      url: an address to visit, in place of the form.
      hints: the tool's annotations.
    """

    def __init__(self, url: str = "", hints: Any = None) -> None:
        self.url = url
        self.hints = hints
        self.ordered: list[Any] = []
        self.server: Any = Server("shop", on_list_tools=self._list, on_call_tool=self._call)

    def toolset(self, **options: Any) -> McpToolset:
        return McpToolset(
            connection_params=InProcessConnectionParams(server=self.server), **options
        )

    async def _list(self, context: Any, params: Any) -> Any:
        schema = {"type": "object"}
        tool = mcp_types.Tool(name="order", input_schema=schema, annotations=self.hints)
        return mcp_types.ListToolsResult(tools=[tool])

    async def _call(self, context: Any, params: Any) -> Any:
        if params.request_state is None:
            form = mcp_types.ElicitRequestFormParams(message="Which size?", requested_schema=FORM)
            url = mcp_types.ElicitRequestURLParams(message="Log in.", url=self.url)
            request = mcp_types.ElicitRequest(params=url if self.url else form)
            return mcp_types.InputRequiredResult(
                input_requests={"size": request}, request_state="state-1"
            )
        answer = params.input_responses["size"]
        self.ordered.append((params.request_state, answer.action, answer.content))
        text = mcp_types.TextContent(type="text", text=f"{answer.action} {answer.content}")
        return mcp_types.CallToolResult(content=[text])

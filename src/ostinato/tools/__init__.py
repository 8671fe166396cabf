"""Tools: what agents can call. Names of google-adk that Ostinato does not have yet are missing."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.auth_tool import AuthToolArguments as AuthToolArguments
    from ostinato.context.context import ToolContext as ToolContext
    from ostinato.tools._request_input_tool import request_input as request_input
    from ostinato.tools.agent_tool import AgentTool as AgentTool
    from ostinato.tools.authenticated_function_tool import (
        AuthenticatedFunctionTool as AuthenticatedFunctionTool,
    )
    from ostinato.tools.base_authenticated_tool import (
        BaseAuthenticatedTool as BaseAuthenticatedTool,
    )
    from ostinato.tools.base_tool import BaseTool as BaseTool
    from ostinato.tools.bash_tool import BashToolPolicy as BashToolPolicy
    from ostinato.tools.bash_tool import ExecuteBashTool as ExecuteBashTool
    from ostinato.tools.discovery_engine_search_tool import (
        DiscoveryEngineSearchTool as DiscoveryEngineSearchTool,
    )
    from ostinato.tools.discovery_engine_search_tool import SearchResultMode as SearchResultMode
    from ostinato.tools.enterprise_search_tool import (
        enterprise_web_search_tool as enterprise_web_search,  # noqa: F401 # pyright: ignore[reportUnusedImport]
    )
    from ostinato.tools.example_tool import ExampleTool as ExampleTool
    from ostinato.tools.exit_loop_tool import exit_loop as exit_loop
    from ostinato.tools.function_tool import FunctionTool as FunctionTool
    from ostinato.tools.get_user_choice_tool import get_user_choice_tool as get_user_choice  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from ostinato.tools.google_maps_grounding_tool import (
        google_maps_grounding as google_maps_grounding,
    )
    from ostinato.tools.google_search_tool import google_search as google_search
    from ostinato.tools.load_artifacts_tool import load_artifacts_tool as load_artifacts  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from ostinato.tools.load_memory_tool import load_memory_tool as load_memory  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from ostinato.tools.long_running_tool import LongRunningFunctionTool as LongRunningFunctionTool
    from ostinato.tools.mcp.connection_params import SseConnectionParams as SseConnectionParams
    from ostinato.tools.mcp.connection_params import StdioConnectionParams as StdioConnectionParams
    from ostinato.tools.mcp.connection_params import (
        StreamableHTTPConnectionParams as StreamableHTTPConnectionParams,
    )
    from ostinato.tools.mcp.mcp_tool import MCPTool as MCPTool
    from ostinato.tools.mcp.mcp_tool import McpTool as McpTool
    from ostinato.tools.mcp.mcp_toolset import MCPToolset as MCPToolset
    from ostinato.tools.mcp.mcp_toolset import McpToolset as McpToolset
    from ostinato.tools.mcp.server_file import mcp_toolsets_from_file as mcp_toolsets_from_file
    from ostinato.tools.preload_memory_tool import preload_memory_tool as preload_memory  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from ostinato.tools.transfer_to_agent_tool import TransferToAgentTool as TransferToAgentTool
    from ostinato.tools.transfer_to_agent_tool import transfer_to_agent as transfer_to_agent
    from ostinato.tools.url_context_tool import url_context as url_context
    from ostinato.tools.vertex_ai_search_tool import VertexAiSearchTool as VertexAiSearchTool

__getattr__, __dir__, __all__ = attach(__name__)

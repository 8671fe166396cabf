"""Tools: what agents can call. Names of google-adk that Ostinato does not have yet are missing."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.auth_tool import AuthToolArguments as AuthToolArguments
    from ostinato.context.context import Context as ToolContext  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from ostinato.tools.agent_tool import AgentTool as AgentTool
    from ostinato.tools.authenticated_function_tool import (
        AuthenticatedFunctionTool as AuthenticatedFunctionTool,
    )
    from ostinato.tools.base_authenticated_tool import (
        BaseAuthenticatedTool as BaseAuthenticatedTool,
    )
    from ostinato.tools.base_tool import BaseTool as BaseTool
    from ostinato.tools.exit_loop_tool import exit_loop as exit_loop
    from ostinato.tools.function_tool import FunctionTool as FunctionTool
    from ostinato.tools.long_running_tool import LongRunningFunctionTool as LongRunningFunctionTool
    from ostinato.tools.transfer_to_agent_tool import TransferToAgentTool as TransferToAgentTool
    from ostinato.tools.transfer_to_agent_tool import transfer_to_agent as transfer_to_agent

__getattr__, __dir__, __all__ = attach(__name__)

"""Agents: the nodes of agent trees, and their contexts."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.agents.base_agent import BaseAgent as BaseAgent
    from ostinato.agents.base_agent_config import BaseAgentConfig as BaseAgentConfig
    from ostinato.agents.llm_agent import Agent as Agent
    from ostinato.agents.llm_agent import LlmAgent as LlmAgent
    from ostinato.agents.llm_agent_config import LlmAgentConfig as LlmAgentConfig
    from ostinato.agents.loop_agent import LoopAgent as LoopAgent
    from ostinato.agents.loop_agent_config import LoopAgentConfig as LoopAgentConfig
    from ostinato.agents.mcp_instruction_provider import (
        McpInstructionProvider as McpInstructionProvider,
    )
    from ostinato.agents.parallel_agent import ParallelAgent as ParallelAgent
    from ostinato.agents.parallel_agent_config import ParallelAgentConfig as ParallelAgentConfig
    from ostinato.agents.sequential_agent import SequentialAgent as SequentialAgent
    from ostinato.agents.sequential_agent_config import (
        SequentialAgentConfig as SequentialAgentConfig,
    )
    from ostinato.context.context import Context as Context
    from ostinato.context.invocation import InvocationContext as InvocationContext
    from ostinato.context.live_request_queue import LiveRequest as LiveRequest
    from ostinato.context.live_request_queue import LiveRequestQueue as LiveRequestQueue
    from ostinato.context.run_config import RunConfig as RunConfig

__getattr__, __dir__, __all__ = attach(__name__)

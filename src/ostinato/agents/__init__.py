"""Agents: face of this package."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.agents.base_agent import BaseAgent as BaseAgent
    from ostinato.agents.llm_agent import Agent as Agent
    from ostinato.agents.llm_agent import LlmAgent as LlmAgent
    from ostinato.agents.loop_agent import LoopAgent as LoopAgent
    from ostinato.agents.parallel_agent import ParallelAgent as ParallelAgent
    from ostinato.agents.sequential_agent import SequentialAgent as SequentialAgent
    from ostinato.context.context import Context as Context
    from ostinato.context.invocation import InvocationContext as InvocationContext
    from ostinato.context.live_request_queue import LiveRequest as LiveRequest
    from ostinato.context.live_request_queue import LiveRequestQueue as LiveRequestQueue
    from ostinato.context.run_config import RunConfig as RunConfig

__getattr__, __dir__, __all__ = attach(__name__)

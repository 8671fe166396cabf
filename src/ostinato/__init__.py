"""Ostinato: an agent runtime whose loop keeps going."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.agents.llm_agent import Agent as Agent
    from ostinato.agents.llm_agent import LlmAgent as LlmAgent
    from ostinato.agents.llm_agent import set_default_model as set_default_model
    from ostinato.agents.loop_agent import LoopAgent as LoopAgent
    from ostinato.agents.parallel_agent import ParallelAgent as ParallelAgent
    from ostinato.agents.sequential_agent import SequentialAgent as SequentialAgent
    from ostinato.apps.app import App as App
    from ostinato.context.context import Context as Context
    from ostinato.context.guardrail import Guardrail as Guardrail
    from ostinato.context.guardrail import GuardrailResult as GuardrailResult
    from ostinato.context.guardrail import guardrail as guardrail
    from ostinato.context.run_config import RunConfig as RunConfig
    from ostinato.errors import ModelRetry as ModelRetry
    from ostinato.events.event import Event as Event
    from ostinato.events.partial_output import PartialOutput as PartialOutput
    from ostinato.runners import InMemoryRunner as InMemoryRunner
    from ostinato.runners import Runner as Runner
    from ostinato.version import __version__ as __version__
    from ostinato.workflow.workflow import Workflow as Workflow

__getattr__, __dir__, __all__ = attach(__name__)

"""ParallelAgentConfig: the settings of a ParallelAgent's file."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from .base_agent_config import BaseAgentConfig


class ParallelAgentConfig(BaseAgentConfig):
    """The settings of a ParallelAgent in a file."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    agent_class: str = Field(default="ParallelAgent", description="ParallelAgent.")

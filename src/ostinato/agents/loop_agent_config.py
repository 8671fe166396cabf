"""LoopAgentConfig: the settings of a LoopAgent's file."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from .base_agent_config import BaseAgentConfig


class LoopAgentConfig(BaseAgentConfig):
    """The settings of a LoopAgent in a file.

    Attributes:
      max_iterations: maximum number of rounds; None for no limit.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    agent_class: str = Field(default="LoopAgent", description="LoopAgent.")
    max_iterations: int | None = Field(default=None, description="Maximum number of rounds.")

"""SequentialAgentConfig: the settings of a SequentialAgent's file."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from .base_agent_config import BaseAgentConfig


class SequentialAgentConfig(BaseAgentConfig):
    """The settings of a SequentialAgent in a file."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    agent_class: str = Field(default="SequentialAgent", description="SequentialAgent.")

"""Settings of tools in files that describe agents."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class BaseToolConfig(BaseModel):
    """Base of the settings of one kind of tool; a key that it does not know is refused."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class ToolArgsConfig(BaseModel):
    """The arguments a tool is made with: whatever the file says under `args`."""

    model_config = ConfigDict(extra="allow", defer_build=True)


class ToolConfig(BaseModel):
    """A tool, named in a file.

    Attributes:
      name: of a tool that comes with Ostinato (`google_search`, `AgentTool`), or a dotted name:
        of a function, a tool, a class of tools, or a function that makes a tool.
      args: what the class or function that makes the tool is given.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    name: str = Field(
        description="A tool of Ostinato, such as `google_search`, or a dotted name, such as "
        "`my_agent.tools.look_up`."
    )
    args: ToolArgsConfig | None = Field(
        default=None, description="What the class or function that makes the tool is given."
    )

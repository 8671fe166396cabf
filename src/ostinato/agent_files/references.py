"""References of an agent file to code and to other agents; public in `agents.common_configs`."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_MAX_PATH = 1_000  # characters


class CodeConfig(BaseModel):
    """A variable, function or class of a program, named in a file.

    Attributes:
      name: dotted name, such as `my_agent.tools.look_up`.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    name: str = Field(description="Dotted name, such as `my_agent.callbacks.before_agent`.")


class AgentRefConfig(BaseModel):
    """Another agent, named in a file: by its own file or by a dotted name, one of the two.

    Attributes:
      config_path: the other file, seen from the folder of this one.
      code: dotted name of an agent, such as `my_agent.agents.helper`.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    config_path: str | None = Field(
        default=None, description="The agent's file, seen from the folder of this file."
    )
    code: str | None = Field(
        default=None, description="Dotted name of an agent, such as `my_agent.agents.helper`."
    )

    @model_validator(mode="after")
    def validate_exactly_one_field(self) -> Self:
        """Return the reference, or raise ValueError unless it names one thing."""
        if bool(self.config_path) == bool(self.code):
            raise ValueError("give exactly one of `config_path` and `code`")
        if len(self.config_path or "") > _MAX_PATH:
            raise ValueError(f"`config_path` has more than {_MAX_PATH} characters")
        return self

"""LlmAgentConfig: the settings of an LlmAgent's file."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from .. import types
from ..agent_files.references import CodeConfig
from ..tools.tool_configs import ToolConfig
from .base_agent_config import BaseAgentConfig

_Codes = list[CodeConfig] | None


class LlmAgentConfig(BaseAgentConfig):
    """The settings of an LlmAgent in a file.

    Attributes:
      model: name of the model; by default that of the nearest ancestor.
      model_code: dotted name of a model object, instead of `model`.
      instruction: what to do.
      tools: what the agent can call.
      input_schema, output_schema: dotted names of types.
      planner, code_executor: dotted names of objects; google-adk's files have neither these nor
        `mode`.
      before_model_callbacks, after_model_callbacks, before_tool_callbacks, after_tool_callbacks:
        dotted names of functions.

    See LlmAgent for the others.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    agent_class: str = Field(default="LlmAgent", description="LlmAgent.")
    model: str | None = Field(default=None, description="Name of the model; else the parent's.")
    model_code: CodeConfig | None = Field(
        default=None, description="A model object, instead of `model`."
    )
    instruction: str = Field(
        description="What the agent has to do; {key} is filled from the state."
    )
    static_instruction: types.ContentUnion | None = Field(
        default=None,
        description="Fixed system instruction; `instruction` then goes into the conversation.",
    )
    disallow_transfer_to_parent: bool | None = Field(
        default=None, description="Never transfer back to the parent."
    )
    disallow_transfer_to_peers: bool | None = Field(
        default=None, description="Never transfer to the parent's other children."
    )
    input_schema: CodeConfig | None = Field(default=None, description="Type of the input.")
    output_schema: CodeConfig | None = Field(default=None, description="Type of the answer.")
    output_key: str | None = Field(default=None, description="State key for the answer.")
    include_contents: Literal["default", "none"] = Field(
        default="default", description="The whole conversation, or the current turn only."
    )
    mode: Literal["chat", "task", "single_turn"] | None = Field(
        default=None, description="Talks with the user, or is called by the parent agent."
    )
    planner: CodeConfig | None = Field(default=None, description="A planner object.")
    code_executor: CodeConfig | None = Field(default=None, description="A code executor object.")
    tools: list[ToolConfig] | None = Field(default=None, description="What the agent can call.")
    before_model_callbacks: _Codes = Field(default=None, description="Before each model call.")
    after_model_callbacks: _Codes = Field(default=None, description="After each model call.")
    before_tool_callbacks: _Codes = Field(default=None, description="Before each tool.")
    after_tool_callbacks: _Codes = Field(default=None, description="After each tool.")
    generate_content_config: types.GenerateContentConfig | None = Field(
        default=None, description="Settings of the model, such as temperature."
    )

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.model and self.model_code:
            raise ValueError("only one of `model` and `model_code` should be set")
        return self

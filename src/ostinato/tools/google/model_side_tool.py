"""Base of the tools that Gemini's service runs within its answer; none runs here."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from ... import types
from ...models.llm_request import LlmRequest
from ...models.model_names import (
    is_gemini_1_model,
    is_gemini_model,
    is_gemini_model_id_check_disabled,
    is_new_gemini,
)
from ..base_tool import BaseTool

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext


class ModelSideTool(BaseTool):
    """A tool that the service of a Gemini model runs; it only adds itself to requests.

    Args:
      name: the tool's name, and its description.

    Attributes:
      label: the tool's name in errors.
      runs_in_gemini_1: whether Gemini 1.x takes the tool, which then has to be the only one.
      needs_gemini_2: whether a model name without a version is refused, too.
    """

    label: ClassVar[str]
    runs_in_gemini_1: ClassVar[bool] = True
    needs_gemini_2: ClassVar[bool] = False

    def __init__(self, name: str) -> None:
        super().__init__(name=name, description=name)

    @abstractmethod
    def build_tool(self, context: ToolContext, *, is_gemini_1: bool) -> types.Tool:
        """Return the tool to add to a request."""

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool to a request.

        Raises:
          ValueError: the model is not a Gemini, or one that does not take the tool. The environment
            variable ADK_DISABLE_GEMINI_MODEL_ID_CHECK allows models with names of their own.
        """
        model = llm_request.model
        is_gemini_1 = is_gemini_1_model(model)
        tool = self.build_tool(tool_context, is_gemini_1=is_gemini_1)
        present: list[Any] = list(llm_request.config.tools or [])
        is_supported = is_new_gemini if self.needs_gemini_2 else is_gemini_model
        if is_gemini_1 and not self.runs_in_gemini_1:
            raise ValueError(
                f"{self.label} tool cannot be used in Gemini 1.x, and the request is for {model}. "
                "Use a newer model."
            )
        if is_gemini_1 and present:
            raise ValueError(
                f"{self.label} tool cannot be used with other tools in Gemini 1.x, and the request "
                f"for {model} has {len(present)}. Use a newer model, or an agent with this tool "
                "alone."
            )
        if not (is_gemini_1 or is_supported(model) or is_gemini_model_id_check_disabled()):
            oldest = 2 if self.needs_gemini_2 else 1
            raise ValueError(
                f"{self.label} tool is not supported for model {model}: it needs Gemini {oldest} "
                "or later. Set the agent's model to one, remove the tool, or set "
                "ADK_DISABLE_GEMINI_MODEL_ID_CHECK=true if the model is one by another name."
            )
        llm_request.config.tools = [*present, tool]

"""ExampleTool: shows the model examples with each request; the model cannot call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from .._later_on import NotBuilt
from ..examples.base_example_provider import BaseExampleProvider
from ..examples.example import Example
from ..examples.example_util import build_example_si
from ..models.llm_request import LlmRequest
from ._user_query import text_of
from .base_tool import BaseTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class ExampleToolConfig(
    NotBuilt, part="agents described in YAML", instead="build the ExampleTool in Python"
):
    """The settings of an ExampleTool in a YAML file."""


class ExampleTool(BaseTool):
    """Adds examples to the system instruction of each request (Spec 1 §10).

    Args:
      examples: the examples to show, or a provider that is asked with the text of the message that
        started the run. A message without text gets none.
    """

    def __init__(self, examples: list[Example] | BaseExampleProvider) -> None:
        super().__init__(name="example_tool", description="example tool")
        self.examples = (
            examples
            if isinstance(examples, BaseExampleProvider)
            else TypeAdapter(list[Example]).validate_python(examples)
        )

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Append the examples to the system instruction."""
        query = text_of(tool_context.user_content)
        if not query:
            return
        instruction = build_example_si(self.examples, query, llm_request.model)
        if instruction:
            llm_request.append_instructions([instruction])

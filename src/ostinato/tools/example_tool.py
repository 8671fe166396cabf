"""ExampleTool: shows the model examples with each request; the model cannot call it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

from pydantic import TypeAdapter

from ..agent_files.file_reading import FieldFault, enter_field, resolve_fully_qualified_name
from ..examples.base_example_provider import BaseExampleProvider
from ..examples.example import Example
from ..examples.example_util import build_example_si
from ..models.llm_request import LlmRequest
from ..types.content import join_lines
from .base_tool import BaseTool
from .tool_configs import BaseToolConfig, ToolArgsConfig

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class ExampleToolConfig(BaseToolConfig):
    """The `args` of an ExampleTool in a file.

    Attributes:
      examples: the examples, or the dotted name of a provider or of a list of them.
    """

    examples: list[Example] | str


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

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """Make the tool with the examples in the file, or those that it names; see BaseTool."""
        examples = ExampleToolConfig.model_validate(config.model_dump()).examples
        if isinstance(examples, list):
            return cls(examples)
        with enter_field("examples"):
            named = resolve_fully_qualified_name(examples)
            if not isinstance(named, BaseExampleProvider | list):
                raise FieldFault(f"{examples!r} is neither a list of examples nor a provider.")
            return cls(cast("list[Example] | BaseExampleProvider", named))

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Append the examples to the system instruction."""
        query = join_lines(tool_context.user_content)
        if not query:
            return
        instruction = build_example_si(self.examples, query, llm_request.model)
        if instruction:
            llm_request.append_instructions([instruction])

"""Deep snapshot of one request, for assertions in tests."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from .. import types
from ..models.llm_request import LlmRequest
from ..models.request_text import declared_functions, instruction_text


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request to a model, unaffected by later changes of the conversation.

    Attributes:
      model: the model's name in the request.
      contents: the conversation, oldest first.
      config: the settings; its `http_options` are left out.
      stream: whether partial responses were asked for.
    """

    model: str | None
    contents: list[types.Content]
    config: types.GenerateContentConfig
    stream: bool

    @classmethod
    def of(cls, llm_request: LlmRequest, *, stream: bool) -> SeenRequest:
        """Take a snapshot of a request."""
        config = llm_request.config
        kept = {name: getattr(config, name) for name in config.model_fields_set}
        kept.pop("http_options", None)
        tools = kept.pop("tools", None)
        kept = copy.deepcopy(kept)
        if tools is not None:  # callables and sessions among them are no values to copy
            kept["tools"] = [
                copy.deepcopy(tool) if isinstance(tool, types.Tool) else tool for tool in tools
            ]
        return cls(
            model=llm_request.model,
            contents=copy.deepcopy(llm_request.contents),
            config=types.GenerateContentConfig.model_construct(**kept),
            stream=stream,
        )

    @property
    def parts(self) -> list[types.Part]:
        """All parts of all contents, in order."""
        return [part for content in self.contents for part in content.parts or []]

    @property
    def texts(self) -> list[str]:
        """The texts of the conversation, in order."""
        return [part.text for part in self.parts if part.text]

    @property
    def function_responses(self) -> list[types.FunctionResponse]:
        """The results of calls that the conversation holds, in order."""
        return [part.function_response for part in self.parts if part.function_response]

    @property
    def instruction(self) -> str:
        """The system instruction as text; empty without one."""
        return instruction_text(self.config)

    @property
    def tool_names(self) -> list[str]:
        """The names of the declared functions, in order."""
        return [str(tool.name) for tool in declared_functions(self.config)]

    def summary(self) -> str:
        """Return the conversation as a few lines, for error messages."""
        lines = [
            f"  {c.role}: {_shorten_part(part)}" for c in self.contents for part in c.parts or []
        ]
        left_out = len(lines) - 6
        head = [f"  ... {left_out} earlier parts"] if left_out > 0 else []
        tools = ", ".join(self.tool_names) or "none"
        return "\n".join([*head, *lines[-6:], f"  tools: {tools}"])


def _shorten_part(part: types.Part) -> str:
    fields = part.model_dump(mode="json", exclude_none=True, exclude={"inline_data"})
    text = str(fields["text"]) if set(fields) == {"text"} else str(fields)
    return text if len(text) <= 200 else text[:197] + "..."

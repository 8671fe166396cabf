"""Deep snapshot of one request, for assertions in tests."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from .. import types
from ..models.llm_request import LlmRequest
from ..models.request_text import declared_functions, instruction_text

_UNCHANGEABLE = {type(None), bool, str, bytes}


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
    def of(
        cls, llm_request: LlmRequest, *, stream: bool, before: SeenRequest | None = None
    ) -> SeenRequest:
        """Take a snapshot of a request.

        Args:
          llm_request: the request.
          stream: whether partial responses were asked for.
          before: the snapshot of the request before; contents that are still equal are shared with
            it, so that a conversation costs memory in proportion to its length.
        """
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
            contents=_copy_contents(llm_request.contents, before.contents if before else []),
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


def _copy_contents(
    contents: list[types.Content], copied: list[types.Content]
) -> list[types.Content]:
    found: list[types.Content] = []
    for number, content in enumerate(contents):
        known = copied[number] if number < len(copied) else None
        if known is None or known != content:
            known = _copy_content(content)
        found.append(known)
    return found


def _copy_content(content: types.Content) -> types.Content:
    if type(content) is not types.Content or content.parts is None:
        return copy.deepcopy(content)
    return content.model_copy(update={"parts": [_copy_part(part) for part in content.parts]})


def _copy_part(part: types.Part) -> types.Part:
    # Most parts are a text: a deep copy calls a function for each of their fields.
    return part.model_copy(deep=not {*map(type, vars(part).values())} <= _UNCHANGEABLE)


def _shorten_part(part: types.Part) -> str:
    fields = part.model_dump(mode="json", exclude_none=True, exclude={"inline_data"})
    text = str(fields["text"]) if set(fields) == {"text"} else str(fields)
    return text if len(text) <= 200 else text[:197] + "..."

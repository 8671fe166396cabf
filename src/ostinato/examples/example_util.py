"""Examples as a system instruction, which ExampleTool appends to each request."""

from __future__ import annotations

import json
from typing import Any

from .. import types
from .base_example_provider import BaseExampleProvider
from .example import Example

_BEGIN = (
    "<EXAMPLES>\nThe conversations below show how to answer this user. They are made up: answer "
    "like them, but never take a fact from them.\n"
)
_END = "</EXAMPLES>"
_RULE = "Call tools as the examples do, and never mention the examples."


def convert_examples_to_text(examples: list[Example], model: str | None) -> str:
    """Return the examples as one text, or an empty text without examples.

    Args:
      examples: what to show.
      model: name of the model that will read it; all of them get the same form.
    """
    if not examples:
        return ""
    shown = [_example_text(number, example) for number, example in enumerate(examples, 1)]
    return "\n".join([_BEGIN, *shown, _END])


def build_example_si(
    examples: list[Example] | BaseExampleProvider, query: str, model: str | None
) -> str:
    """Return the system instruction that shows examples, or what a provider has for a question.

    Args:
      examples: examples, or a provider to ask for them.
      query: text of the user's message.
      model: name of the model that will read it.

    Returns:
      The instruction, or an empty text without examples.

    Raises:
      TypeError: `examples` is neither.
    """
    if isinstance(examples, BaseExampleProvider):
        examples = examples.get_examples(query)
    elif not isinstance(examples, list):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"examples is a {type(examples).__name__}; give a list of Example or a "
            "BaseExampleProvider"
        )
    text = convert_examples_to_text(examples, model)
    return f"{text}\n{_RULE}" if text else ""


def _example_text(number: int, example: Example) -> str:
    lines = [f"EXAMPLE {number}:"]
    for content in [example.input, *example.output]:
        speaker = "user" if content is example.input else content.role or "model"
        lines += [f"[{speaker}] {_part_text(part)}" for part in content.parts or []]
    return "\n".join([*lines, f"END OF EXAMPLE {number}", ""])


def _part_text(part: types.Part) -> str:
    if part.function_call is not None:
        call = part.function_call
        return f"calls {call.name}({_format_arguments(call.args or {})})"
    if part.function_response is not None:
        answer = part.function_response
        return f"{answer.name} returned {json.dumps(answer.response, ensure_ascii=False)}"
    if part.text is not None:
        return part.text
    return json.dumps(part.to_json_dict(), ensure_ascii=False)


def _format_arguments(args: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in args.items())

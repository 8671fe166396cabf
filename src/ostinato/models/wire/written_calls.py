"""Function calls that a model writes into its text, for models that know no function calling."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from ... import types

_MOST_FAILED = 1_000  # braces that open no JSON
_MOST_READINGS = 8  # of the whole text, by attempts that ended in an error
_DECODER = json.JSONDecoder()


class GemmaFunctionCallModel(BaseModel):
    """A function call as a model without function calling writes it."""

    name: str = Field(validation_alias=AliasChoices("name", "function"))
    parameters: dict[str, Any] = Field(validation_alias=AliasChoices("parameters", "args"))


def told_functions(declarations: Iterable[types.FunctionDeclaration]) -> str:
    """Return the instruction that tells a model which functions there are and how to call one."""
    functions = [
        declaration.model_dump(mode="json", by_alias=True, exclude_none=True)
        for declaration in declarations
    ]
    if not functions:
        return ""
    lines = ",\n".join(json.dumps(function) for function in functions)
    return (
        f"You have access to these functions:\n[{lines}]\n"
        'To call one, answer with {"name": its name, "parameters": an object of its arguments} '
        "and nothing else.\n"
    )


def written_content(content: types.Content) -> types.Content:
    """Return a content whose calls and responses are text; the same one where it has none."""
    parts = content.parts or []
    if not any(part.function_call or part.function_response for part in parts):
        return content
    return types.Content(role=content.role, parts=[_written(part) for part in parts])


def _written(part: types.Part) -> types.Part:
    if (call := part.function_call) is not None:
        written = {"name": call.name, "parameters": call.args or {}}
        return types.Part(text=json.dumps(written))
    if (answer := part.function_response) is not None:
        response = json.dumps(answer.response or {})
        return types.Part(text=f"The function {answer.name} returned: {response}")
    return part


def read_call(text: str) -> types.FunctionCall | None:
    """Return the call that a text holds, in a fence, alone or among words; None for plain text."""
    found: types.FunctionCall | None = None
    start = text.find("{")
    failed, left = 0, _MOST_READINGS * len(text)
    while start >= 0 and failed < _MOST_FAILED and left > 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:  # an error counts all lines up to its place
            failed += 1
            # Where a recursion ended is not known.
            left -= error.pos - start if isinstance(error, json.JSONDecodeError) else len(text)
            start = text.find("{", start + 1)
            continue
        call = _call(value)
        found = call or found  # the last one counts: a model may repeat the form first
        start = text.find("{", end)
    return found


def _call(value: Any) -> types.FunctionCall | None:
    try:
        call = GemmaFunctionCallModel.model_validate(value)
    except ValidationError:
        return None
    return types.FunctionCall(name=call.name, args=call.parameters)

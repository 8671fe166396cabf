"""Short forms for tests of the offline model: requests, declarations, answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ostinato import types
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.models.offline_llm import OfflineLlm

STR = {"type": "string"}
INT = {"type": "integer"}
NUM = {"type": "number"}


def function(
    name: str, about: str, optional: tuple[str, ...] = (), /, **params: Any
) -> types.FunctionDeclaration:
    schema = {
        "type": "object",
        "properties": params,
        "required": [param for param in params if param not in optional],
    }
    return types.FunctionDeclaration(
        name=name, description=about, parameters_json_schema=schema if params else None
    )


def user(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def model(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


def called(name: str, **args: Any) -> types.Content:
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


def returned(name: str, response: dict[str, Any]) -> types.Content:
    part = types.Part.from_function_response(name=name, response=response)
    return types.Content(role="user", parts=[part])


def overheard(*lines: str) -> types.Content:
    parts = [types.Part(text=text) for text in ("For context:", *lines)]
    return types.Content(role="user", parts=parts)


def request(
    *contents: str | types.Content,
    tools: list[types.FunctionDeclaration] | None = None,
    instruction: str | None = None,
    **config: Any,
) -> LlmRequest:
    return LlmRequest(
        contents=[user(c) if isinstance(c, str) else c for c in contents],
        config=types.GenerateContentConfig(
            system_instruction=instruction,
            tools=[types.Tool(function_declarations=tools)] if tools else None,
            **config,
        ),
    )


def respond(llm_request: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    async def collect() -> list[LlmResponse]:
        return [r async for r in OfflineLlm().generate_content_async(llm_request, stream)]

    return asyncio.run(collect())


def ask(*contents: str | types.Content, **options: Any) -> str | list[tuple[str, dict[str, Any]]]:
    """Return the text of the answer, or its calls as pairs of name and arguments."""
    response = respond(request(*contents, **options))[-1]
    calls = [(call.name or "", call.args or {}) for call in response.get_function_calls()]
    assert response.content is not None
    assert response.content.parts
    return calls or (response.content.parts[0].text or "")


def ask_json(*contents: str | types.Content, **options: Any) -> Any:
    text = ask(*contents, **options)
    assert isinstance(text, str)
    return json.loads(text)

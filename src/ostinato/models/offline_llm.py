"""OfflineLlm: a small rule-based stand-in for a model, so that an agent can be tried without a key.

It reads the tools' declarations, picks by words and types, fills arguments from the message,
transfers by description and answers from results. It is no intelligence and keeps no state.
The registry knows it as `offline`; the command line falls back to it, and says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from .. import types
from .base_llm import BaseLlm
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .offline.answers import from_hearsay, from_results, greeting, no_fit, question
from .offline.choice import (
    EXIT_LOOP,
    SET_RESPONSE,
    Fit,
    best_target,
    calls_of,
    fits,
    instructed,
    left_open,
    pick,
)
from .offline.code import code_for, from_output, wants_code
from .offline.forms import answer_as, fields_as
from .offline.reading import TRANSFER, Reading, read
from .request_text import instruction_text

_Call = tuple[str, dict[str, Any]]
_CHARACTERS_PER_TOKEN = 4


class OfflineLlm(BaseLlm):
    """A deterministic stand-in that needs no network and no key (Spec 2 §5).

    The same request always gets the same answer, but for dates such as "tomorrow" where a tool
    asks for a calendar date.
    """

    model: str = "offline"

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["offline"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; texts are streamed word by word."""
        reading = read(llm_request)
        answer = _decide(reading)
        if isinstance(answer, str):
            parts = [types.Part(text=answer)]
            if stream:
                for word in re.findall(r"\s*\S+\s*$|\s*\S+", answer):
                    yield LlmResponse(content=_content([types.Part(text=word)]), partial=True)
        else:
            parts = [types.Part.from_function_call(name=name, args=args) for name, args in answer]
        yield LlmResponse(
            content=_content(parts),
            model_version=self.model,
            finish_reason=types.FinishReason.STOP,
            usage_metadata=_usage(llm_request, parts),
        )


def _content(parts: list[types.Part]) -> types.Content:
    return types.Content(role="model", parts=parts)


def _decide(reading: Reading) -> str | list[_Call]:
    """Return the text or the calls that answer a request: the first of these steps that has any."""
    if wants_code(reading):
        if reading.code_output is not None:
            return from_output(reading.code_output)
        if code := code_for(reading):
            return code
    if not reading.results and not reading.heard and (words := greeting(reading)):
        return _formed(reading, words)
    if calls := _calls(reading):
        return calls
    return _end(reading)


def _calls(reading: Reading) -> list[_Call]:
    """Return calls of tools, or a transfer, where the message still asks for any."""
    found = fits(reading, reading.message)
    transfer = _transfer(reading, found)
    if transfer is not None:
        return [transfer]
    if not found and reading.background and not reading.own_results:
        found = fits(reading, reading.message, reading.background)
    picked = pick(found)
    if not picked and not found and not reading.own_results:
        picked = instructed(reading)[:1]
    if picked:
        return [(fit.tool.name, args) for fit in picked for args in calls_of(fit)]
    if not found and reading.tool(EXIT_LOOP) and (reading.heard or reading.said):
        return [(EXIT_LOOP, {})] if EXIT_LOOP not in _called(reading) else []
    return _to_parent(reading, found)


def _called(reading: Reading) -> set[str]:
    return {name for name, _ in reading.calls}


def _transfer(reading: Reading, found: Sequence[Fit]) -> _Call | None:
    """Hand over where another agent's description fits better than one's own tools."""
    if not reading.targets:
        return None
    message = left_open(reading) if reading.own_results else reading.message
    target, score = best_target(reading, message)
    own = max((fit.score for fit in found), default=0.0)
    if target is None or score <= own:
        return None
    return (TRANSFER, {"agent_name": target.name})


def _to_parent(reading: Reading, found: Sequence[Fit]) -> list[_Call]:
    """Hand a question that nothing here fits back to the parent, once per turn."""
    known = {target.name for target in reading.targets}
    idle = not found and not reading.results and not reading.heard
    if not idle or reading.parent not in known - reading.visited:
        return []
    return [(TRANSFER, {"agent_name": reading.parent})]


def _end(reading: Reading) -> str | list[_Call]:
    """Return the answer that ends the turn."""
    found = fits(reading, reading.message, reading.background)
    asking = question(found[0].tool.name, found[0].filled.missing) if found else ""
    if told := from_results(reading):
        return _formed(reading, f"{told} {asking}" if found and found[0].asked_for else told)
    if asking:
        return asking
    return _formed(reading, from_hearsay(reading) or no_fit(reading))


def _formed(reading: Reading, text: str) -> str | list[_Call]:
    """Give an answer the form that the request asks for: JSON, a closing call, or text."""
    closing = reading.tool(SET_RESPONSE)
    if closing is not None and SET_RESPONSE not in _called(reading):
        return [(SET_RESPONSE, fields_as(reading, closing.params))]
    if reading.schema is not None:
        return json.dumps(answer_as(reading, reading.schema), ensure_ascii=False)
    return text


def _usage(
    llm_request: LlmRequest, parts: list[types.Part]
) -> types.GenerateContentResponseUsageMetadata:
    """Count tokens roughly, at four characters each."""
    prompt = len(instruction_text(llm_request.config))
    for content in llm_request.contents:
        prompt += sum(map(_length, content.parts or []))
    prompt_tokens = prompt // _CHARACTERS_PER_TOKEN + 1
    answer_tokens = sum(map(_length, parts)) // _CHARACTERS_PER_TOKEN + 1
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt_tokens,
        candidates_token_count=answer_tokens,
        total_token_count=prompt_tokens + answer_tokens,
    )


def _length(part: types.Part) -> int:
    if part.text is not None:
        return len(part.text)
    if part.function_call is not None:
        return len(str(part.function_call.args)) + len(part.function_call.name or "")
    if part.function_response is not None:
        return len(str(part.function_response.response))
    return 0

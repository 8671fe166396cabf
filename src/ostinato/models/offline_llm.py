"""A rule-based stand-in for a model, so that an agent can be tried without a key.

It chooses tools and agents by shared words, takes arguments from the message, and answers with the
results. It does not understand language: it cannot reason, chat, summarize, fill lists or nested
objects, follow an instruction, or use a tool whose words the message does not share.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from typing import Any

from .. import types
from .base_llm import BaseLlm
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .offline.code import tell_output, write_code
from .offline.matching import (
    EXIT_LOOP,
    SET_RESPONSE,
    choose_calls,
    match_agent,
    match_instruction,
    match_tools,
    open_stems,
)
from .offline.phrasing import admit_defeat, ask_for, greet, tell_heard, tell_results
from .offline.request_view import TRANSFER, RequestView, read_request
from .offline.schema import empty_value, read_schema

_Call = tuple[str, dict[str, Any]]


class OfflineLlm(BaseLlm):
    """A deterministic stand-in that needs no network and no key."""

    model: str = "offline"

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["offline"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; texts are streamed word by word."""
        answer = _decide(read_request(llm_request), llm_request.config)
        if isinstance(answer, str):
            parts = [types.Part(text=answer)]
            for word in re.findall(r"\s*\S+\s*$|\s*\S+", answer) if stream else ():
                yield LlmResponse(
                    content=types.ModelContent(parts=[types.Part(text=word)]), partial=True
                )
        else:
            parts = [types.Part.from_function_call(name=name, args=args) for name, args in answer]
        yield LlmResponse(
            content=types.ModelContent(parts=parts),
            model_version=self.model,
            finish_reason=types.FinishReason.STOP,
        )


def _decide(view: RequestView, config: types.GenerateContentConfig) -> str | list[_Call]:
    """Return the text or the calls that answer a request."""
    if view.code_output is not None:
        return tell_output(view.code_output)
    if code := write_code(view):
        return code
    greeting = "" if view.results or view.heard else greet(view)
    if calls := [] if greeting else _find_calls(view):
        return calls
    text = greeting or _find_answer(view)
    closing = view.tools.get(SET_RESPONSE)
    if closing is not None and SET_RESPONSE not in view.called:
        return [(SET_RESPONSE, {one.name: empty_value(one.schema, text) for one in closing.params})]
    schema: Any = config.response_schema or config.response_json_schema
    return text if schema is None else json.dumps(empty_value(read_schema(schema), text))


def _find_calls(view: RequestView) -> list[_Call]:
    """Return the calls of tools, or the transfer, that the message still asks for."""
    matches = match_tools(view)
    agent, score = match_agent(view, set(open_stems(view)))
    if agent and score > max((one.score for one in matches), default=0.0):
        return [(TRANSFER, {"agent_name": agent})]
    if calls := choose_calls(matches):
        return calls
    if matches or view.called:
        return []
    if EXIT_LOOP in view.tools and view.heard and EXIT_LOOP not in view.called:
        return [(EXIT_LOOP, {})]
    if match := match_instruction(view):
        return [(match.tool.name, args) for args in match.calls]
    known = {one.name for one in view.agents} - view.visited
    return (
        [(TRANSFER, {"agent_name": view.parent})] if view.parent in known and not view.heard else []
    )


def _find_answer(view: RequestView) -> str:
    """Return the text that ends the turn."""
    matches = match_tools(view)
    question = ask_for(matches[0].tool, matches[0].missing) if matches else ""
    told = tell_results(view)
    return " ".join(filter(None, (told, question))) or tell_heard(view) or admit_defeat(view)

"""The models of a simulation: those of a script, or one that calls declared tools at random.

Each fails, breaks off or answers nonsense when the plan says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from random import Random
from typing import Any, cast

from pydantic import PrivateAttr

from ... import types
from ..._aclosing import Aclosing
from ...errors import ModelConnectionError, ModelRateLimitError, ModelServerError
from ...models.base_llm import BaseLlm
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ..scripted_model import FunctionModel, responses
from .plan import draw_index

_ROUNDS = 3  # answers of tools after which the random model says a text
_WORDS = ("one", "two", "three", "", "ünïcode", "a longer text with spaces")
_DELAY = 1.0  # seconds that a model takes, at most
_PARTS = ("A first piece, ", "and the rest.")


class SimulatedModel(BaseLlm):
    """A model with the delays and faults of the plan.

    Args:
      inner: answers.
      take_fault: returns the next fault of a model in this process, '' for none.
      chance: decides delays.
      watch: called with each request.
      report: called with what an assertion of the model's own code says.
    """

    use_interactions_api: bool = False
    _inner: BaseLlm = PrivateAttr()
    _take_fault: Callable[[], str] = PrivateAttr()
    _chance: Random = PrivateAttr()
    _watch: Callable[[LlmRequest], None] = PrivateAttr()
    _report: Callable[[str], Exception] = PrivateAttr()

    def __init__(
        self,
        inner: BaseLlm,
        take_fault: Callable[[], str],
        chance: Random,
        watch: Callable[[LlmRequest], None],
        report: Callable[[str], Exception],
    ) -> None:
        chains = bool(inner.__dict__.get("use_interactions_api"))
        super().__init__(model=inner.model)
        self.use_interactions_api = chains
        self._inner, self._take_fault, self._chance = inner, take_fault, chance
        self._watch, self._report = watch, report

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer, or fail as the plan says."""
        self._watch(llm_request)
        await asyncio.sleep(self._chance.random() * _DELAY)
        fault = self._take_fault()
        named: dict[str, Any] = {"provider": "simulated", "model": self.model}
        if fault == "model_rate_limit":
            raise ModelRateLimitError("Too many requests (simulated).", status=429, **named)
        if fault == "model_server_error":
            raise ModelServerError("The model is overloaded (simulated).", status=503, **named)
        if fault == "model_cut":
            if stream:
                yield _text(_PARTS[0], partial=True)
                await asyncio.sleep(self._chance.random() * _DELAY)
            raise ModelConnectionError("The stream ended early (simulated).", **named)
        if fault == "model_malformed":
            yield _MALFORMED[draw_index(self._chance, len(_MALFORMED))]()
            return
        async with Aclosing(self._inner.generate_content_async(llm_request, stream)) as inner:
            try:
                async for response in inner:
                    yield response
            except AssertionError as error:
                raise self._report(f"model: {error or 'an assertion failed'}") from error


def _text(text: str, *, partial: bool | None = None) -> LlmResponse:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return LlmResponse(content=content, partial=partial)


def _calls(name: str, args: dict[str, Any], *, twice: bool = False) -> LlmResponse:
    call = types.FunctionCall(name=name, args=args)
    parts = [types.Part(function_call=call.model_copy()) for _ in range(2 if twice else 1)]
    return LlmResponse(content=types.Content(role="model", parts=parts))


# What models answer now and then: an unknown tool, unfit arguments, nothing, an error.
_MALFORMED: Sequence[Callable[[], LlmResponse]] = (
    lambda: _calls("no_such_tool", {}),
    lambda: _calls("no_such_tool", {"x": [None, {"y": 1}]}, twice=True),
    lambda: LlmResponse(content=types.Content(role="model", parts=[])),
    lambda: _text(""),
    lambda: LlmResponse(
        error_code="MALFORMED_FUNCTION_CALL", error_message="The call has no end (simulated)."
    ),
)


def make_model(model: Any, agent: str, own: Callable[[], BaseLlm], chance: Random) -> BaseLlm:
    """Return the model of an agent, without faults.

    Args:
      model: as for `simulate`.
      agent: name of the agent.
      own: returns the agent's own model.
      chance: decides what the random model does.
    """
    if isinstance(model, Mapping):
        model = cast("Mapping[str, Any]", model).get(agent)
    if model == "own":
        return own()
    if isinstance(model, BaseLlm):
        return model
    if callable(model):
        return FunctionModel(cast("Callable[[LlmRequest], Any]", model))
    if isinstance(model, Sequence):
        return _PositionModel(cast("Sequence[Any]", model))
    return FunctionModel(lambda request: _answer_randomly(request, chance))


class _PositionModel(BaseLlm):
    """A model that answers with the reply whose number is that of its answers since the last text
    of the user: a process that resumes a run gets the same one.
    """

    model: str = "scripted"
    _turns: Sequence[Any] = PrivateAttr()

    def __init__(self, turns: Sequence[Any]) -> None:
        super().__init__(model="scripted")
        self._turns = turns

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with the reply for this position; with the last one behind the end."""
        at = min(_count_rounds(llm_request), len(self._turns) - 1)
        for response in responses(self._turns[at] if self._turns else "Done.", stream=stream):
            yield response


def _count_rounds(request: LlmRequest) -> int:
    """Return how many contents of the user hold responses since the last one with a text."""
    count = 0
    for content in reversed(request.contents):
        parts = content.parts or []
        if any(part.function_response for part in parts):
            count += 1
        elif content.role == "user":
            break
    return count


def _answer_randomly(request: LlmRequest, chance: Random) -> Any:
    declared = _declarations(request)
    rounds = _count_rounds(request)
    if not declared or rounds >= _ROUNDS or chance.random() < 0.15 + 0.25 * rounds:
        return f"Done, says number {draw_index(chance, 1000)}."
    calls: list[types.FunctionCall] = []
    for _ in range(1 + (chance.random() < 0.4) + (chance.random() < 0.2)):
        tool = declared[draw_index(chance, len(declared))]
        schema: Any = tool.parameters_json_schema
        if schema is None and tool.parameters is not None:
            schema = tool.parameters.model_dump(mode="json", exclude_none=True)
        value = _draw_value(schema or {"type": "object"}, chance, 0)
        args = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        calls.append(types.FunctionCall(name=tool.name, args=args))
    return calls


def _declarations(request: LlmRequest) -> list[types.FunctionDeclaration]:
    found: list[types.FunctionDeclaration] = []
    for tool in request.config.tools or ():
        found += getattr(tool, "function_declarations", None) or ()
    return found


def _draw_value(schema: Any, chance: Random, depth: int) -> Any:
    """Return a value that fits a JSON schema of usual form."""
    choices = schema.get("enum")
    if choices:
        return choices[draw_index(chance, len(choices))]
    for key in ("anyOf", "any_of", "oneOf"):
        if schema.get(key):
            return _draw_value(schema[key][draw_index(chance, len(schema[key]))], chance, depth)
    kind = str(schema.get("type") or "string").lower()
    if kind == "object":
        required = schema.get("required") or ()
        properties: dict[str, Any] = schema.get("properties") or {}
        return {
            name: _draw_value(one, chance, depth + 1)
            for name, one in properties.items()
            if name in required or chance.random() < 0.5
        }
    if kind == "array":
        count = draw_index(chance, 3) if depth < 4 else 0
        return [_draw_value(schema.get("items") or {}, chance, depth + 1) for _ in range(count)]
    if kind in ("integer", "number"):
        number = draw_index(chance, 100)
        return number if kind == "integer" else number / 4
    if kind == "boolean":
        return chance.random() < 0.5
    return None if kind == "null" else _WORDS[draw_index(chance, len(_WORDS))]

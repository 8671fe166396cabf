"""Short forms of eval cases and agents for the tests of the evaluation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from ostinato import types
from ostinato.agents import Agent
from ostinato.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from ostinato.evaluation.eval_set import EvalSet
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import FunctionModel


def text(role: str, words: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=words)])


def turn(
    message: str = "hi",
    answer: str | None = None,
    calls: list[tuple[str, dict[str, Any]]] | None = None,
    responses: list[tuple[str, dict[str, Any]]] | None = None,
) -> Invocation:
    data = IntermediateData(
        tool_uses=[types.FunctionCall(name=name, args=args) for name, args in calls or ()],
        tool_responses=[
            types.FunctionResponse(name=name, response=response)
            for name, response in responses or ()
        ],
    )
    final = None if answer is None else text("model", answer)
    return Invocation(
        user_content=text("user", message), final_response=final, intermediate_data=data
    )


def recorded(invocation: Invocation) -> IntermediateData:
    """Return what the agent did on the way to its answer."""
    assert isinstance(invocation.intermediate_data, IntermediateData)
    return invocation.intermediate_data


def case(eval_id: str, *turns: Invocation, **fields: Any) -> EvalCase:
    return EvalCase(eval_id=eval_id, conversation=list(turns), **fields)


def eval_set(*cases: EvalCase) -> EvalSet:
    return EvalSet(eval_set_id="set", eval_cases=list(cases))


def agent(answer: Callable[[LlmRequest], Any], tools: Any = (), **fields: Any) -> Agent:
    return Agent(name="helper", model=FunctionModel(answer), tools=list(tools), **fields)


def said(request: LlmRequest) -> str:
    """Return the text of the user's last message."""
    texts = [
        part.text
        for content in request.contents
        if content.role == "user"
        for part in content.parts or ()
        if part.text
    ]
    return texts[-1]


def has_result(request: LlmRequest) -> bool:
    """Return whether the last content of a request is a tool's response."""
    parts = request.contents[-1].parts or []
    return parts[-1].function_response is not None


class JudgeModel(BaseLlm):
    """A judge that answers with what `answer` makes of the prompt; `prompts` has all prompts."""

    model: str = "judge-1"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        prompt = (llm_request.contents[0].parts or [])[0].text or ""
        JUDGE.prompts.append(prompt)
        answer = JUDGE.answer(prompt)
        if isinstance(answer, str):
            answer = LlmResponse(content=text("model", answer))
        yield answer

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["judge-.*"]


class _Judge:
    """What the registered judge does in a test."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.answer: Callable[[str], str | LlmResponse] = lambda prompt: "yes"


JUDGE = _Judge()

"""The agents of the model: what they do depends on what the user said and was answered alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from ostinato.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from ostinato.events.request_input import RequestInput
from ostinato.models.llm_request import LlmRequest
from ostinato.testing import FunctionModel, call
from ostinato.types import Content
from ostinato.workflow import START, JoinNode, Workflow
from tests.model.provider import Provider

KINDS = ("say", "act", "both", "order", "pay")
_LAST = "Is anybody there?"  # which `simulate` asks in the end
TREES = ("single", "transfer", "sequential", "parallel", "graph", "asking")


def tree(
    name: str,
    tools: list[Any],
    provider: Provider | None,
    *,
    parks: bool,
) -> BaseAgent | Workflow:
    """Return the root of a tree by its name.

    Args:
      name: one of TREES.
      tools: `act`, `order` and `pay`.
      provider: keeps what the models say; None if nothing does.
      parks: whether invocations are parked, whose calls have no answers.
    """

    def agent(name: str, decide: Callable[[str, str], Any] = _do, **options: Any) -> LlmAgent:
        def answer(request: LlmRequest) -> Any:
            _check_paired(request.contents, {"order", "pay", *(["act"] if parks else [])})
            if provider is not None:
                provider.check(request)
            kind, number, answered = _said(request)
            return f"done {number}" if answered else decide(kind, number)

        model = FunctionModel(answer) if provider is None else provider.model(answer)
        return LlmAgent(name=name, description=name, model=model, tools=tools, **options)

    if name == "single":
        return agent("root")
    if name == "transfer":
        return agent("root", _hand_down, sub_agents=[agent("helper", _hand_up)])
    if name == "graph":
        wings = (agent("one"), agent("two"), _note)
        return Workflow(name="root", edges=[(START, wings, JoinNode(name="join"), agent("last"))])
    if name == "asking":
        return Workflow(name="root", edges=[(START, agent("one"), _ask, agent("last"), _note)])
    children: list[BaseAgent] = [agent("one"), agent("two")]
    if name == "parallel":
        both = ParallelAgent(name="both", sub_agents=children)
        return SequentialAgent(name="root", sub_agents=[both, agent("last")])
    return SequentialAgent(name="root", sub_agents=children)


def _check_paired(contents: Sequence[Content], without: set[str]) -> None:
    """Calls are answered by what follows; but not a long-running one that was cancelled."""
    for content, following in pairwise(contents):
        calls = Counter(p.function_call.name for p in content.parts or () if p.function_call)
        answers = [p.function_response for p in following.parts or ()]
        given = Counter(one.name for one in answers if one)
        missing = set(calls - given) - without
        assert not (given - calls or missing), f"calls {calls} are answered by {given}"


def _note(ctx: Any, node_input: Any) -> None:
    """Say nothing, but count."""
    ctx.state["noted"] = ctx.state.get("noted", 0) + 1


async def _ask(node_input: Any) -> Any:
    yield RequestInput(message=f"Is it {node_input}?")


def _said(request: LlmRequest) -> tuple[str, str, bool]:
    """Return what the user said last, its number, and whether a tool has answered since."""
    said, answered = "", False
    for content in request.contents:
        for part in content.parts or ():
            if part.text and part.text.startswith((*KINDS, _LAST)):
                said, answered = part.text, False
            answered = answered or part.function_response is not None
    kind, _, number = said.partition(" ")
    return kind, number, answered


def _do(kind: str, number: str) -> Any:
    if kind == "act":
        return call("act", what=number)
    if kind == "both":
        return [call("act", what=number), call("act", what=number + "'")]
    if kind == "order":
        return [call("order", what=number), call("act", what=number)]
    if kind == "pay":
        return [call("pay", what=number), call("act", what=number)]
    return f"done {number}"


def _hand_down(kind: str, number: str) -> Any:
    return _do(kind, number) if kind == "say" else call("transfer_to_agent", agent_name="helper")


def _hand_up(kind: str, number: str) -> Any:
    return call("transfer_to_agent", agent_name="root") if kind == "say" else _do(kind, number)

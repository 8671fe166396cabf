"""Updates of a long-running call: each reaches the model in the turn of its message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.models.llm_request import LlmRequest
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import FunctionModel, call, final_text
from ostinato.tools import LongRunningFunctionTool
from tests.approvals.kit import PLACE


def reply(request: LlmRequest) -> Any:
    """Start the job once, then say what the newest response is."""
    parts = [part for content in request.contents for part in content.parts or ()]
    given = [p.function_response.response for p in parts if p.function_response is not None]
    return f"Seen: {(given[-1] or {}).get('status')}" if given else call("job")


def worker(returns: Any) -> LlmAgent:
    def job() -> Any:
        """Start."""
        return returns

    return LlmAgent(name="worker", model=FunctionModel(reply), tools=[LongRunningFunctionTool(job)])


SHAPES: dict[str, Callable[[Any], BaseAgent]] = {
    "agent": worker,
    "sequence": lambda returns: SequentialAgent(name="all", sub_agents=[worker(returns)]),
    "parallel": lambda returns: ParallelAgent(name="all", sub_agents=[worker(returns)]),
    "loop": lambda returns: LoopAgent(name="all", sub_agents=[worker(returns)], max_iterations=1),
    "below": lambda returns: LlmAgent(
        name="front",
        model=FunctionModel(lambda request: call("transfer_to_agent", agent_name="worker")),
        sub_agents=[worker(returns)],
    ),
}


@pytest.mark.parametrize("between", [False, True], ids=["", "words between"])
@pytest.mark.parametrize("returns", [None, {"status": "started"}], ids=["nothing", "interim"])
@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_each_update_reaches_the_model_in_its_turn(
    shape: str, resumable: bool, returns: Any, between: bool
) -> None:
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    app = App(name="desk", root_agent=SHAPES[shape](returns), resumability_config=config)
    runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)

    async def say(message: Any) -> list[Any]:
        return [event async for event in runner.run_async(**PLACE, new_message=message)]

    made = next(
        one for event in await say("Go.") for one in event.get_function_calls() if one.name == "job"
    )
    for status in ("one", "two", "done"):
        answer = types.FunctionResponse(id=made.id, name="job", response={"status": status})
        part = types.Part(function_response=answer)
        told = await say(types.Content(role="user", parts=[part]))
        assert final_text(told) == f"Seen: {status}"
        if between and shape == "agent":
            assert final_text(await say("And?")) == f"Seen: {status}"

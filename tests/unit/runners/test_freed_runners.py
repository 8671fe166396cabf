"""What a finished run leaves behind: nothing that has to wait for the garbage collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import FunctionModel, call

PLACE: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}


@pytest.fixture(autouse=True)
def fixture_no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def make_runner(**more: Any) -> Runner:
    def answer(request: Any) -> Any:
        is_answered = request.contents[-1].parts[-1].function_response is not None
        return "Five." if is_answered else call("add", a=2, b=3)

    service = InMemorySessionService()
    await service.create_session(app_name="talk", **PLACE)
    agent = LlmAgent(name="root", model=FunctionModel(answer), tools=[add], **more)
    return Runner(app_name="talk", agent=agent, session_service=service)


async def read_all(runner: Runner) -> None:
    events = [event async for event in runner.run_async(**PLACE, new_message="Hi")]
    assert len(events) == 3


async def read_handle(runner: Runner) -> None:
    result = await runner.start(**PLACE, new_message="Hi").result()
    assert result.text == "Five."


@pytest.mark.parametrize("use", [read_all, read_handle])
async def test_a_runner_that_is_let_go_is_freed_at_once(use: Any) -> None:
    runner = await make_runner()
    await use(runner)
    left = weakref.ref(runner)
    del runner
    assert left() is None


async def test_a_turn_frees_its_context_and_session_at_once() -> None:
    left: list[Any] = []

    def look(callback_context: Any, llm_request: Any) -> None:
        run = callback_context.get_invocation_context()
        left.extend((weakref.ref(run), weakref.ref(run.session), weakref.ref(llm_request)))

    runner = await make_runner(before_model_callback=look)
    await read_all(runner)
    assert len(left) == 6 and not any(ref() for ref in left)

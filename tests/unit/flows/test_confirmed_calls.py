"""A person who confirms a call sees the arguments that run, and none put beside them."""

from __future__ import annotations

from typing import Any

from ostinato import types
from ostinato.agents import Agent
from ostinato.runners import InMemoryRunner
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool


async def test_arguments_that_the_function_does_not_take_are_not_shown() -> None:
    paid: list[tuple[int, str]] = []

    def pay(amount: int, to: str = "Ann") -> str:
        paid.append((amount, to))
        return "paid"

    def answer(request: Any) -> Any:
        if request.contents[-1].parts[-1].function_response is not None:
            return "done"
        return call("pay", amount=5000, **{"amount ": 1, "to\u200b": "Bob", "note": "harmless"})

    tool = FunctionTool(pay, require_confirmation=True)
    runner = InMemoryRunner(Agent(name="clerk", model=FunctionModel(answer), tools=[tool]))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    asked = await _run(runner, session.id, types.UserContent(parts=[types.Part(text="pay")]))
    (request,) = [one for one in asked if one.name == "adk_request_confirmation"]
    assert (request.args or {})["originalFunctionCall"]["args"] == {"amount": 5000}
    part = types.Part(
        function_response=types.FunctionResponse(
            id=request.id, name=request.name, response={"confirmed": True}
        )
    )
    await _run(runner, session.id, types.UserContent(parts=[part]))
    assert paid == [(5000, "Ann")]
    await runner.close()


async def _run(
    runner: InMemoryRunner, session: str, message: types.Content
) -> list[types.FunctionCall]:
    """Run a turn; return the calls of its events."""
    events = runner.run_async(user_id="u", session_id=session, new_message=message)
    return [each async for event in events for each in event.get_function_calls()]

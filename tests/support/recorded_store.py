"""A shop's agent with recorded sessions, for the tests of replays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.llm_request import LlmRequest
from ostinato.runners import Runner
from ostinato.sessions.base_session_service import BaseSessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools.function_tool import FunctionTool

APP = "shop"


class Effects:
    """Counts what the tools of the shop did."""

    def __init__(self) -> None:
        self.refunds: list[str] = []
        self.lookups: list[str] = []

    def find_order(self, order: str) -> dict[str, Any]:
        """Return an order."""
        self.lookups.append(order)
        return {"order": order, "amount": 10}

    def refund(self, order: str) -> dict[str, Any]:
        """Refund an order."""
        self.refunds.append(order)
        return {"status": "refunded", "order": order}

    def tools(self, *, confirm: bool = False) -> list[Any]:
        lookup = FunctionTool(self.find_order)
        lookup.custom_metadata = {"read_only": True}
        return [lookup, FunctionTool(self.refund, require_confirmation=confirm)]


def said(request: LlmRequest) -> str:
    """Return the newest text of the user."""
    for content in reversed(request.contents):
        for part in content.parts or ():
            if content.role == "user" and part.text:
                return part.text
    return ""


def results(request: LlmRequest) -> list[types.FunctionResponse]:
    """Return the tool responses since the user's newest text."""
    found: list[types.FunctionResponse] = []
    for content in reversed(request.contents):
        for part in content.parts or ():
            if part.text and content.role == "user":
                return found
            if part.function_response is not None:
                found.insert(0, part.function_response)
    return found


def serve(request: LlmRequest) -> Any:
    """Look an order up, refund it if asked to, and say so: the agent that is recorded."""
    words, done = said(request).split(), results(request)
    if words[0] not in ("refund", "find"):
        return f"You said {' '.join(words)}."
    if not done:
        return call("find_order", order=words[1])
    if words[0] == "refund" and len(done) == 1:
        return call("refund", order=words[1])
    last = done[-1].response or {}
    return f"Order {words[1]}: {last.get('status') or last.get('amount')}."


def make_agent(
    answer: Callable[[LlmRequest], Any] = serve,
    effects: Effects | None = None,
    *,
    confirm: bool = False,
    **fields: Any,
) -> Agent:
    """Return the agent of the shop."""
    tools = (effects or Effects()).tools(confirm=confirm)
    return Agent(name="clerk", model=FunctionModel(answer), tools=tools, **fields)


async def record(
    service: BaseSessionService,
    agent: Any,
    conversations: Sequence[Sequence[str]],
    **options: Any,
) -> None:
    """Hold conversations with an agent; session number n has the id `sN`."""
    runner = Runner(app_name=APP, agent=agent, session_service=service)
    for number, messages in enumerate(conversations):
        session_id = f"s{number}"
        await service.create_session(app_name=APP, user_id="ann", session_id=session_id)
        for message in messages:
            content = types.Content(role="user", parts=[types.Part(text=message)])
            stream = runner.run_async(
                user_id="ann", session_id=session_id, new_message=content, **options
            )
            async for _ in stream:
                pass
    await runner.close()

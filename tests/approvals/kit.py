"""An agent that asks before it pays, over any session service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.errors import OstinatoError
from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool

PLACE: dict[str, Any] = {"user_id": "ann", "session_id": "one"}
NAMES: dict[str, Any] = {"app_name": "desk", **PLACE}


def make_hold() -> tuple[Callable[[], Awaitable[str]], asyncio.Event, asyncio.Event]:
    """Return a tool that keeps the session busy, when it has begun, and what lets it end."""
    entered, gate = asyncio.Event(), asyncio.Event()

    async def hold() -> str:
        """Hold the session."""
        entered.set()
        await gate.wait()
        return "held"

    return hold, entered, gate


class Desk:
    """A runner with one session; `paid` holds what its tool was run with."""

    def __init__(self, service: Any, *replies: Any, tools: list[Any] | None = None) -> None:
        self.paid: list[int] = []
        self.service = service
        self.model = ScriptedModel(list(replies or (call("pay", amount=5), "Done.")))
        agent = LlmAgent(
            name="clerk", model=self.model, tools=[self.pay_tool()] if tools is None else tools
        )
        self.runner = Runner(
            app=App(name="desk", root_agent=agent),
            session_service=service,
            auto_create_session=True,
        )

    def pay_tool(self) -> FunctionTool:
        def pay(amount: int) -> dict[str, Any]:
            """Pay."""
            self.paid.append(amount)
            return {"paid": amount}

        return FunctionTool(pay, require_confirmation=True)

    async def say(self, message: Any = "Pay 5.", **options: Any) -> list[Event]:
        run = self.runner.run_async(**PLACE, new_message=message, **options)
        return [event async for event in run]

    async def ask(self) -> types.FunctionCall:
        """Have the agent ask; return its request."""
        return requests(await self.say())[-1]

    async def outcome(self, message: Any, **options: Any) -> list[Event] | OstinatoError:
        """Return the events of a run, or what it was refused with."""
        try:
            return await self.say(message, **options)
        except OstinatoError as error:
            return error

    async def outcomes(self, *messages: Any) -> list[Any]:
        return await asyncio.gather(*(self.outcome(message) for message in messages))

    async def events(self) -> list[Event]:
        session = await self.service.get_session(**NAMES)
        return list(session.events)


def requests(events: list[Event]) -> list[types.FunctionCall]:
    """Return the confirmations that events ask for."""
    calls = [one for event in events for one in event.get_function_calls()]
    return [one for one in calls if one.name == "adk_request_confirmation"]


def decide(
    request: types.FunctionCall, confirmed: Any = True, *, name: str | None = None, **more: Any
) -> types.Content:
    """Return the message that answers a request."""
    response = {"confirmed": confirmed, **more}
    answer = types.FunctionResponse(
        id=request.id, name=name or "adk_request_confirmation", response=response
    )
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


def amount_of(asked: types.FunctionCall) -> int:
    return (asked.args or {})["originalFunctionCall"]["args"]["amount"]


def approve(asked: types.FunctionCall) -> types.Content:
    response = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": True})
    return types.Content(role="user", parts=[types.Part(function_response=response)])


async def waiting_calls(store: Any) -> list[types.FunctionCall]:
    events = (await store.get_session(**NAMES)).events
    answered = {r.id for e in events if e.author == "user" for r in e.get_function_responses()}
    return [
        one
        for event in events
        for one in event.get_function_calls()
        if one.name == "adk_request_confirmation" and one.id not in answered
    ]

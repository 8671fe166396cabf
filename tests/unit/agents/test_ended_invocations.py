"""An invocation that a callback has ended: no agent runs after that, of whatever kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from ostinato import types
from ostinato.agents import BaseAgent, InvocationContext
from ostinato.events import Event
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.kit import store as store


class Greeter(BaseAgent):
    """An agent of a user's own, which asks nobody whether it may run."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        content = types.Content(role="model", parts=[types.Part(text="Hello.")])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


def texts(events: list[Event]) -> list[str]:
    return [event.content.parts[0].text for event in events]  # type: ignore[union-attr,index,misc]


async def test_an_agent_does_not_run_after_its_own_callback_has_answered(store: Store) -> None:
    def refuse(callback_context: Any) -> types.Content:
        return types.Content(role="model", parts=[types.Part(text="Not today.")])

    talk = Talk(Greeter(name="root", before_agent_callback=refuse), store)
    assert texts(await talk.say()) == ["Not today."]
    assert texts(await talk.stored()) == ["Go", "Not today."]
    free = Talk(Greeter(name="root"), store)
    assert texts(await free.say()) == ["Hello."]

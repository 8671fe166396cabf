"""A talk over a store, and the three checks that every bad input has to leave standing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.artifacts import InMemoryArtifactService
from ostinato.context.node import BaseNode
from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import ScriptedModel, final_text
from ostinato.utils.context_utils import Aclosing
from tests.support.optionals import present

USER, SESSION = "ann", "one"


class Store:
    """A session service, and a way to read it as another process would.

    Args:
      place: an SQLite file, the URL of a database, or None for the store in memory.
    """

    def __init__(self, place: Path | str | None) -> None:
        self._place = place
        self.service: Any = InMemorySessionService() if place is None else self._made()

    def _made(self) -> Any:
        if isinstance(self._place, str):
            return DatabaseSessionService(self._place)
        return SqliteSessionService(present(self._place), synchronous="NORMAL")

    @asynccontextmanager
    async def reopened(self) -> AsyncIterator[Any]:
        if self._place is None:
            yield self.service
            return
        other = self._made()
        try:
            yield other
        finally:
            await other.close()

    async def close(self) -> None:
        if self._place is not None:
            await self.service.close()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Each of the two stores that a run may sit on."""
    made = Store(tmp_path / "sessions.db" if request.param == "sqlite" else None)
    yield made
    await made.close()


@pytest.fixture
async def memory() -> AsyncIterator[Store]:
    """The store in memory alone."""
    yield Store(None)


class Talk:
    """A runner with one session over a store; remembers what it was handed."""

    def __init__(self, root: BaseNode | App, store: Store, **app: Any) -> None:
        made = root if isinstance(root, App) else App(name="talk", root_agent=root, **app)
        self.store = store
        self.seen: list[Event] = []
        self.runner = Runner(
            app=made,
            session_service=store.service,
            artifact_service=InMemoryArtifactService(),
            auto_create_session=True,
        )

    def run(self, message: Any = "Go", **options: Any) -> Any:
        return self.runner.run_async(
            user_id=USER, session_id=SESSION, new_message=message, **options
        )

    async def say(self, message: Any = "Go", **options: Any) -> list[Event]:
        """Run to the end and return the events, the partial ones too."""
        events: list[Event] = []
        async with Aclosing(self.run(message, **options)) as run:
            async for event in run:
                events.append(event)
                if not event.partial:
                    self.seen.append(event)
        return events

    async def fails(self, message: Any = "Go", **options: Any) -> BaseException:
        """Run and return what was raised."""
        try:
            await self.say(message, **options)
        except Exception as error:
            return error
        raise AssertionError("the run raised nothing")

    async def answer(
        self, call: types.FunctionCall, response: dict[str, Any], **options: Any
    ) -> list[Event]:
        return await self.say(answer_to(call, response), **options)

    async def stored(self) -> list[Event]:
        """Return the log as another process reads it."""
        async with self.store.reopened() as service:
            session = await service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
            return list(session.events)

    async def state(self) -> dict[str, Any]:
        async with self.store.reopened() as service:
            session = await service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
            return dict(session.state)

    async def check_sound(self) -> list[Event]:
        """Nothing that was handed on is lost, and no call is left without a response."""
        log = await self.stored()
        kept = [event.id for event in log]
        assert len(set(kept)) == len(kept)
        handed = [event.id for event in self.seen]
        assert [i for i in kept if i in set(handed)] == handed
        assert unanswered(log) == []
        return log

    async def check_goes_on(self, model: ScriptedModel) -> None:
        """`check_sound`, and the next turn is valid: the model is asked and answers."""
        await self.check_sound()
        asked = len(model.requests)
        model.add("All right.")
        events = await self.say("And now?")
        assert final_text(events) == "All right."
        assert len(model.requests) == asked + 1
        assert model.requests[-1].texts[-1] == "And now?"
        check_paired(model.requests[-1].contents)
        await self.check_sound()


def model_of(agent: LlmAgent) -> ScriptedModel:
    """Return the scripted model of an agent."""
    assert isinstance(agent.model, ScriptedModel)
    return agent.model


def answer_to(*pairs: Any) -> types.Content:
    """A user message that answers calls: call, response, call, response, ..."""
    parts = [
        types.Part(
            function_response=types.FunctionResponse(id=call.id, name=call.name, response=given)
        )
        for call, given in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    return types.Content(role="user", parts=parts)


def unanswered(log: list[Event]) -> list[str]:
    """Names of calls without a later response; those of long-running tools may wait."""
    open_calls: dict[str, str] = {}
    for event in log:
        waiting = event.long_running_tool_ids or set()
        for call in event.get_function_calls():
            assert call.id
            if call.id not in waiting:
                open_calls[call.id] = call.name or ""
        for response in event.get_function_responses():
            open_calls.pop(response.id or "", None)
    return list(open_calls.values())


def check_paired(contents: list[types.Content]) -> None:
    """Every content with calls is followed by one that answers exactly those."""
    for index, content in enumerate(contents):
        calls = [p.function_call.name or "" for p in content.parts or () if p.function_call]
        if not calls:
            continue
        following = contents[index + 1].parts if index + 1 < len(contents) else None
        given = [p.function_response.name or "" for p in following or () if p.function_response]
        assert sorted(given) == sorted(calls), (index, contents)


def responses(events: list[Event]) -> list[dict[str, Any]]:
    """The results of the tools, in order."""
    return [r.response or {} for e in events for r in e.get_function_responses()]


def once(value: Any) -> Callable[..., Any]:
    """A callback that answers `value` the first time and None afterwards."""
    left = [value]

    def callback(*_: Any, **__: Any) -> Any:
        return left.pop() if left else None

    return callback

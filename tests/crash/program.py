"""The program that runs in each process of a trial: like a server that is started again after each
crash, it goes on with what lies open, and its user says what was not said yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import ostinato.durable.process_identity as process_module
from ostinato import types
from ostinato.agents.run_config import RunConfig
from ostinato.apps import App, ResumabilityConfig
from ostinato.artifacts import FileArtifactService
from ostinato.errors import LeaseLostError
from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.sessions.store.durable_store import Claim, JournalRow, Place
from tests.crash.scenarios import Answer, Leave, Say, Scenario, Tools
from tests.crash.world import World
from tests.unit.flows.kit import answer_to

APP, USER, SESSION = "talk", "ann", "one"
PLACE = Place(APP, USER, SESSION)
NAMES = PLACE._asdict()
_PAUSE = 0.01
_WATCHED = "release park renew put_message leave_message create_session delete_session".split()


@dataclass(frozen=True)
class Ways:
    """How a program goes about it.

    Attributes:
      greets: whether it calls `resume_open` when it starts, or lets the next request find what lies
        open.
      keyed: whether the user repeats a request with an idempotency key, or looks before asking
        again.
      away: whether each process seems to be on a host of its own, so that only the end of its lease
        tells of its death.
    """

    greets: bool = True
    keyed: bool = False
    away: bool = False

    @property
    def letters(self) -> str:
        marks = (("g", self.greets), ("k", self.keyed), ("a", self.away))
        return "".join(letter for letter, is_set in marks if is_set) or "-"

    @classmethod
    def of(cls, letters: str) -> Ways:
        return cls("g" in letters, "k" in letters, "a" in letters)


def watched(world: World, service: Any) -> Any:
    """Put a fail point before and after each write of a store, and note what it confirmed."""
    kind = type(service)

    class Watched(kind):  # type: ignore[misc, valid-type]
        async def append(self, session: Any, events: Any, *args: Any, **named: Any) -> Any:
            names = "+".join(_kind(event) for event in events) or "nothing"
            if named.get("claim") or (len(args) > 2 and args[2]):
                names = "claim+" + names
            world.point(f"before append {names}")
            given = await super().append(session, events, *args, **named)
            for event in events:
                if session.id == SESSION:
                    world.acknowledged.add(event.id)
            world.point(f"after append {names}")
            return given

    for name in _WATCHED:
        setattr(Watched, name, _between(world, name, getattr(kind, name)))
    service.__class__ = Watched
    return service


def _kind(event: Event) -> str:
    if event.get_function_calls():
        return "calls"
    return "responses" if event.get_function_responses() else f"event by {event.author}"


def _between(world: World, name: str, method: Any) -> Any:
    async def act(*args: Any, **named: Any) -> Any:
        world.point(f"before {name}")
        given = await method(*args, **named)
        world.point(f"after {name}")
        return given

    return act


class Program:
    """One process of a trial.

    Args:
      scenario: what it runs.
      world: what it leaves behind.
      ways: how it goes about it.
      service: where the sessions are.
      lease_seconds: length of its leases.
      max_attempts: as for Runner.
    """

    def __init__(
        self,
        scenario: Scenario,
        world: World,
        ways: Ways,
        service: Any,
        *,
        lease_seconds: float = 10.0,
        max_attempts: int = 20,
    ) -> None:
        self.scenario = scenario
        self.world = world
        self.ways = ways
        self.service = service
        app = App(
            name=APP,
            root_agent=scenario.tree(Tools(world)),
            resumability_config=ResumabilityConfig(is_resumable=True)
            if scenario.resumable
            else None,
        )
        self.runner = Runner(
            app=app,
            session_service=service,
            artifact_service=FileArtifactService(world.folder / "artifacts"),
            lease_seconds=lease_seconds,
            max_attempts=max_attempts,
        )

    async def run(self) -> None:
        """Do what is left to do."""
        if self.ways.greets:
            await self.settle()
        for number, step in enumerate(self.scenario.steps):
            if isinstance(step, Say):
                texts = [t for t in step.texts if self.ways.keyed or not await self._has_said(t)]
                await asyncio.gather(*(self._say(t, step.delta, f"{number}{t}") for t in texts))
            elif isinstance(step, Leave):
                await self._leave()
            else:
                await self._answer(step)
        await self.settle()
        await self.runner.close()

    async def settle(self) -> None:
        """Go on with what lies open until nothing does."""
        while True:
            await self.runner.resume_open()
            waiting = await self.service.waiting_places(APP)
            if not waiting and not await self.service.open_leases(APP):
                return
            await asyncio.sleep(_PAUSE)

    async def log(self) -> list[Event]:
        return list((await self.service.get_session(**NAMES)).events)

    async def _has_said(self, text: str) -> bool:
        if any(f'"{text}"' in m.payload for m in await self.service.messages(PLACE)):
            return True
        return text in said_by_user(await self.log())

    async def _say(self, text: str, delta: dict[str, Any] | None, key: str) -> None:
        name = {"idempotency_key": key} if self.ways.keyed else {}
        await self.hand_on(new_message=text, state_delta=delta, **name)

    async def _leave(self) -> None:
        """Do as a process with other agents, which died in the middle of a call."""
        if any(event.invocation_id == "e-left" for event in await self.log()):
            return
        call = types.FunctionCall(id="adk-left", name="keyed", args={})
        said = types.Content(role="user", parts=[types.Part(text="left")])
        calls = types.Content(role="model", parts=[types.Part(function_call=call)])
        events = [
            Event(author="user", invocation_id="e-left", content=said),
            Event(author="root", invocation_id="e-left", content=calls),
        ]
        rows = [JournalRow("e-left", "adk-left", "started", "keyed")]
        claim = Claim("other", "", 0.0, "e-left", digest="other agents")
        await self.service.append(
            await self.service.get_session(**NAMES), events, rows, None, claim
        )

    async def _answer(self, step: Answer) -> None:
        """Answer every call of a tool; after a death there may be one more question."""
        while True:
            log = await self.log()
            answered = {r.id for e in log if e.author == "user" for r in e.get_function_responses()}
            calls = asked_by(log, step.tool)
            waiting = [c for c in calls if c.id not in answered]
            messages = [message.payload for message in await self.service.messages(PLACE)]
            if waiting and not any(str(waiting[0].id) in text for text in messages):
                await self.hand_on(new_message=answer_to(waiting[0], step.response))
                continue
            await self.settle()
            if calls == asked_by(await self.log(), step.tool) and not messages:
                assert calls, f"{step.tool} was never called"
                return

    async def hand_on(self, **request: Any) -> None:
        """Run a request to its end, as a server does that passes its events on."""
        place = {"user_id": USER, "session_id": SESSION}
        config = RunConfig()
        async for event in self.runner.run_async(**place, run_config=config, **request):
            if not event.partial:
                self.world.handed.add(event.id)
                self.world.point("after handing on")


def said_by_user(log: Sequence[Event]) -> list[str]:
    """Return what the user said, in order."""
    parts = [p for e in log if e.author == "user" and e.content for p in e.content.parts or ()]
    return [part.text for part in parts if part.text]


def asked_by(log: Sequence[Event], tool: str) -> list[types.FunctionCall]:
    """Return the calls of a tool."""
    return [c for e in log for c in e.get_function_calls() if c.name == tool]


def seem_away(number: int) -> None:
    """Let this process seem to be on another host than all others."""
    host = f"host-{number}|boot|ns"
    cast("Any", process_module).host_identity = lambda: host


async def live(program: Program) -> None:
    """Run the program; a process that was taken over ends."""
    try:
        await program.run()
    except LeaseLostError:
        await program.runner.close()
    await program.service.close()

"""One trial: the store goes away in the middle of a scripted turn; then the next message."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.errors import ModelRequestError, StoreError
from ostinato.events import Event
from ostinato.models.llm_request import LlmRequest
from ostinato.runners import Runner
from ostinato.testing import FunctionModel, call
from ostinato.tools import AgentTool
from tests.outage.stores import Place

USER = "ann"
PATIENCE = 5.0  # seconds within which the next message has to be answered
_LONGEST = 30.0  # seconds after which a turn counts as hung

# Where in the turn the store goes away: before the n-th of these, or while it runs.
MOMENTS = ("message", "model 1", "model 2", "model 3", "look", "note", "ask", "inner", "event")


@dataclass
class Outage:
    """When and for how long the store goes away.

    Attributes:
      way: in which way, one of the place's.
      moment: at which moment of the turn; one of `MOMENTS`.
      delay: seconds after that moment.
      seconds: how long it is away.
      reader: what the caller does: `reads`, `leaves` (closes the generator) or `cancels`.
      other: whether the next message comes to another process.
      early: whether it comes before the store is back.
      resumable: whether the app is resumable.
    """

    way: str
    moment: str
    delay: float
    seconds: float
    reader: str
    other: bool
    early: bool
    resumable: bool

    @classmethod
    def random(cls, chance: random.Random, ways: tuple[str, ...]) -> Outage:
        """Choose one."""
        return cls(
            chance.choice(ways),
            chance.choice(MOMENTS),
            chance.choice((0.0, chance.uniform(0.0, 0.08))),
            chance.uniform(0.05, 1.5) if chance.random() < 0.5 else chance.uniform(0.05, 0.3),
            chance.choices(("reads", "leaves", "cancels"), (6, 1, 1))[0],
            chance.random() < 0.5,
            chance.random() < 0.25,
            chance.random() < 0.3,
        )


@dataclass
class Outcome:
    """What became of a trial.

    Attributes:
      ended: how the turn ended: `answered`, or the name of its error.
      seconds: how long the next message took after the store was back.
      faults: what was wrong; empty if nothing was.
    """

    ended: str = ""
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list[str])


class World:
    """The agent, its tools and its strict provider.

    Args:
      place: the store.
      outage: when it goes.
    """

    def __init__(self, place: Place, outage: Outage) -> None:
        self._place, self._outage = place, outage
        self.task: asyncio.Task[None] | None = None
        self.back = asyncio.Event()
        self.returned = 0.0
        self.refused: list[str] = []

    def reach(self, moment: str) -> None:
        """Begin the outage if this is its moment, once."""
        if moment == self._outage.moment and self.task is None:
            self.begin()

    def begin(self) -> None:
        """Take the store away now, or after the delay."""
        if not self._outage.delay:
            self._place.take_away(self._outage.way)
        self.task = asyncio.create_task(self._go())

    async def _go(self) -> None:
        if self._outage.delay:
            await asyncio.sleep(self._outage.delay)
            self._place.take_away(self._outage.way)
        await asyncio.sleep(self._outage.seconds)
        self._place.bring_back()
        self.returned = time.monotonic()
        self.back.set()

    def agent(self) -> LlmAgent:
        """Make the agent, anew for each process."""
        inner = LlmAgent(
            name="inner",
            model=FunctionModel(self._answer_inner),
            tools=[self.look],
            description="?",
        )
        tools = [self.look, self.note, self.ask, AgentTool(inner)]
        return LlmAgent(name="root", model=FunctionModel(self._answer), tools=tools)

    async def look(self) -> str:
        """Look."""
        self.reach("look")
        await asyncio.sleep(0.02)
        return "seen"

    def note(self) -> str:
        """Note."""
        time.sleep(0.01)
        return "noted"

    async def ask(self) -> str:
        """Ask."""
        self.reach("ask")
        await asyncio.sleep(0)
        return "told"

    async def _answer(self, request: LlmRequest) -> Any:
        self._check(request.contents)
        said = _newest_words(request.contents)
        if said.startswith("next"):
            return f"Answer to {said}."
        step = 1 + _steps_since(request.contents)
        self.reach(f"model {step}")
        await asyncio.sleep(0.005)
        if step == 1:
            self.reach("note")
            return [call("look"), call("note"), call("ask")]
        if step == 2:
            self.reach("inner")
            return call("inner", request="find")
        return "Done."

    async def _answer_inner(self, request: LlmRequest) -> Any:
        self._check(request.contents)
        return "Found." if _steps_since(request.contents) else call("look")

    def _check(self, contents: list[types.Content]) -> None:
        """Refuse what providers refuse: calls that the next content does not answer, each once.

        Raises:
          ModelRequestError: the history is not sound.
        """
        for index, content in enumerate(contents):
            asked = [p.function_call.id for p in content.parts or () if p.function_call]
            after = contents[index + 1] if index + 1 < len(contents) else types.Content()
            given = [p.function_response.id for p in after.parts or () if p.function_response]
            if asked and sorted(map(str, asked)) != sorted(map(str, given)):
                self.refused.append(f"calls {asked} are answered by {given}")
                raise ModelRequestError(f"400: No tool output found for {asked}.")


def _newest_words(contents: list[types.Content]) -> str:
    for content in reversed(contents):
        words = [part.text for part in content.parts or () if part.text]
        if content.role == "user" and words:
            return words[0]
    return ""


def _steps_since(contents: list[types.Content]) -> int:
    """Return how many answers to calls came after the newest words of the user."""
    steps = 0
    for content in reversed(contents):
        if any(part.function_response for part in content.parts or ()):
            steps += 1
        elif content.role == "user":
            break
    return steps


class Process:
    """A program over the store: a service and a runner of its own.

    Args:
      place: the store.
    """

    def __init__(self, place: Place) -> None:
        self.service = place.service()

    def runner(self, world: World, resumable: bool) -> Runner:
        """Make a runner for one trial."""
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        app = App(name="app", root_agent=world.agent(), resumability_config=config)
        return Runner(app=app, session_service=self.service)


async def try_outage(one: Process, two: Process, place: Place, plan: Outage, name: str) -> Outcome:
    """Run a turn in a new session, take the store away, and send the next message.

    Args:
      one: the process of the turn.
      two: another one.
      place: the store of both.
      plan: when it goes away.
      name: the session's id.
    """
    world, outcome = World(place, plan), Outcome()
    where: dict[str, Any] = {"user_id": USER, "session_id": name}
    await one.service.create_session(app_name="app", **where)
    runner = one.runner(world, plan.resumable)
    turn = asyncio.create_task(_read(runner, where, world, plan))
    following = (two if plan.other else one).runner(world, plan.resumable)
    if plan.early:
        await asyncio.wait(
            (turn, asyncio.ensure_future(world.back.wait())),
            timeout=_LONGEST,
            return_when=asyncio.FIRST_COMPLETED,
        )
    else:
        await asyncio.wait((turn,), timeout=_LONGEST)
    if world.task is None:  # the turn never came to that moment
        world.begin()
    if not plan.early:
        await world.back.wait()
    outcome.seconds = await _say_next(following, where, world, outcome)
    await world.back.wait()
    outcome.ended = await _end(turn, plan, outcome)
    outcome.faults += world.refused
    await _check_log(two.service, where, outcome)
    await runner.close()
    return outcome


async def _read(runner: Runner, where: dict[str, Any], world: World, plan: Outage) -> None:
    world.reach("message")
    events = runner.run_async(**where, new_message="go")
    count = 0
    try:
        async for _ in events:
            count += 1
            if count == 2:
                world.reach("event")
            if count == 2 and plan.reader == "leaves":
                return
            if count == 2 and plan.reader == "cancels":
                task = asyncio.current_task()
                assert task is not None
                asyncio.get_running_loop().call_later(0.01, task.cancel)
    finally:
        await events.aclose()


async def _say_next(runner: Runner, where: dict[str, Any], world: World, outcome: Outcome) -> float:
    """Send the next message until the store is back; return the seconds it took from then."""
    words, begun, number = "", time.monotonic(), 0
    until = begun + _LONGEST
    while not words and time.monotonic() < until:
        number += 1
        away = not world.back.is_set()
        try:
            async with asyncio.timeout(_LONGEST):
                async for event in runner.run_async(**where, new_message=f"next {number}"):
                    words = _text(event) or words
        except StoreError as error:
            if not away:
                outcome.faults.append(f"the store is back, but: {error}")
                break
            await asyncio.sleep(0.05)
        except Exception as error:
            outcome.faults.append(f"the next message failed: {type(error).__name__}: {error}")
            break
    took = time.monotonic() - max(begun, world.returned)
    if not words.startswith("Answer to next") and not outcome.faults:
        outcome.faults.append(f"the next message was answered by {words!r}")
    if took > PATIENCE:
        outcome.faults.append(f"the next message took {took:.1f} s")
    return took


async def _end(turn: asyncio.Task[None], plan: Outage, outcome: Outcome) -> str:
    with suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST):
            await asyncio.wait((turn,))
    if not turn.done():
        outcome.faults.append("the turn hangs")
        turn.cancel()
        await asyncio.wait((turn,))
        return "hung"
    if turn.cancelled():
        return "cancelled"
    error = turn.exception()
    if error is None:
        return "left" if plan.reader == "leaves" else "answered"
    if not isinstance(error, StoreError):
        outcome.faults.append(f"the turn raised {type(error).__name__}: {error}")
    return type(error).__name__


async def _check_log(service: Any, where: dict[str, Any], outcome: Outcome) -> None:
    """Compare the log as another process reads it with what a sound one has."""
    session = await service.get_session(app_name="app", **where)
    ids = Counter(event.id for event in session.events)
    outcome.faults += [f"event {id} is stored twice" for id, count in ids.items() if count > 1]
    said = Counter(_text(event) for event in session.events if event.author == "user")
    outcome.faults += [f"{text!r} is stored twice" for text, n in said.items() if text and n > 1]
    asked = [call.id for event in session.events for call in event.get_function_calls()]
    given = {r.id for event in session.events for r in event.get_function_responses()}
    outcome.faults += [f"call {id} has no response" for id in asked if id not in given]


def _text(event: Event) -> str:
    parts = event.content.parts if event.content is not None else None
    return "".join(part.text or "" for part in parts or ())

"""Two processes of one session, simulated: what their host does besides, and what must be true.

Which agents they run, and how, follows from the number of a seed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from ostinato.agents.run_config import RunConfig
from ostinato.apps import App, ResumabilityConfig
from ostinato.events import Event
from ostinato.events.pending import CONFIRMATION
from ostinato.sessions.log.history import mark_imported
from ostinato.testing import FAULTS, Host, Moment, SimulationReport, simulate
from ostinato.testing.simulation.plan import NEVER_PARKED
from ostinato.testing.simulation.report import HostAction
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from ostinato.types import Content, FunctionCall, FunctionResponse, Part
from tests.model.provider import Provider
from tests.model.trees import KINDS, TREES, tree

LENGTH = 60  # actions of one run
_PAST = "past-"  # ids of calls in invented history begin so
_POISON = 2  # attempts after which an invocation is parked, where that is to happen at all
_FAULTS: Mapping[str, float] = {**FAULTS, "death": 3.0, "lease_loss": 2.5, "loop_close": 1.0}


def named(host: Host) -> dict[str, Any]:
    """Return the name of the session, as methods take it."""
    return {"user_id": host.user_id, "session_id": host.session_id}


async def rewind(host: Host) -> None:
    """Somebody takes the session back to before one of its invocations."""
    found = list(dict.fromkeys(e.invocation_id for e in host.events if e.author == "user"))
    if found:
        chosen = host.choose(found)
        await host.runner.rewind_async(**named(host), rewind_before_invocation_id=chosen)


async def prune(host: Host) -> None:
    """Somebody deletes old events from the store: none of what is open or waits."""
    host.prune(host.amount)


async def append_from_outside(host: Host) -> None:
    """A front end appends something, with its own view of the session, and writes to its state."""
    text = Content(role="user", parts=[Part(text=f"by the way {host.time}")])
    event = Event(author="front", invocation_id=f"front-{host.time}", content=text)
    if host.amount < 0.5:
        event.actions.state_delta["front"] = host.time
    service = host.runner.session_service
    session = await service.get_session(app_name=host.app_name, **named(host))
    assert session is not None
    await service.append_event(session, event)


async def bring_history(host: Host) -> None:
    """Somebody imports events in which a payment waits for an approval; it is never run."""
    pay = FunctionCall(id=f"{_PAST}{host.time}", name="pay", args={"what": "all"})
    original = {"id": pay.id, "name": pay.name, "args": pay.args}
    args = {"originalFunctionCall": original, "toolConfirmation": {"hint": "pay?"}}
    ask = FunctionCall(id=f"ask-{host.time}", name=CONFIRMATION, args=args)
    events = [
        Event(
            author="root",
            invocation_id=f"{_PAST}{host.time}",
            content=Content(role="model", parts=[Part(function_call=call)]),
            long_running_tool_ids={f"ask-{host.time}"} if call is ask else None,
        )
        for call in (pay, ask)
    ]
    service: Any = host.runner.session_service
    session = await service.get_session(app_name=host.app_name, **named(host))
    await service.append(session, mark_imported(events))


async def answer_history(host: Host) -> None:
    """Somebody approves a payment of the imported history."""
    calls = [call.id or "" for event in host.events for call in event.get_function_calls()]
    asked = [one for one in calls if one.startswith("ask-")]
    if asked:
        yes = FunctionResponse(
            id=host.choose(asked), name=CONFIRMATION, response={"confirmed": True}
        )
        await send(host, Part(function_response=yes), "queue")


async def reject(host: Host) -> None:
    """A user writes who does not wait while the session is busy."""
    await send(host, Part(text=f"{host.choose(KINDS)} {host.time}"), "reject")


async def send(host: Host, part: Part, policy: str) -> None:
    """Run a message, and read all of it."""
    config: Any = RunConfig(on_busy=policy)  # type: ignore[arg-type]
    message = Content(role="user", parts=[part])
    async for _ in host.runner.run_async(**named(host), new_message=message, run_config=config):
        pass


async def close(host: Host) -> None:
    """A process hands over what it still does for callers who are gone."""
    await host.runner.close()


async def resume(host: Host) -> None:
    """Somebody asks a process for what lies open, while it looks for it itself."""
    await host.runner.resume_open()


ACTIONS: dict[str, HostAction] = {
    one.__name__: one
    for one in (
        rewind,
        prune,
        append_from_outside,
        bring_history,
        answer_history,
        reject,
        close,
        resume,
    )
}


def no_invented_payment(moment: Moment) -> bool:
    """Nothing that only imported history asked for is run."""
    return not any(effect.call_id.startswith(_PAST) for effect in moment.effects)


def keeps_newest_write(moment: Moment) -> None:
    """Of the key that all tools write, the value that was written last is stored.

    An event of a parallel branch leaves out what another branch has overwritten and stored. So does
    a result that is stored late, if another invocation has overwritten it meanwhile.
    """
    elsewhere: dict[str, int] = {}  # the newest value of each invocation
    stored: dict[str, int] = {}
    newest: dict[str, int] = {}
    begun: set[str] = set()  # what is left of an invocation that is pruned in part is none
    for event in moment.events:
        run, delta = event.invocation_id, event.actions.state_delta
        begun |= {run} if event.author == "user" else set()
        written = [value for key, value in delta.items() if key.startswith("wrote ")]
        if event.actions.rewind_before_invocation_id or not written:
            continue
        stored[run] = delta.get("last", stored.get(run, 0))
        others = max((value for one, value in elsewhere.items() if one != run), default=0)
        if "last" in delta:
            elsewhere[run] = delta["last"]
        elif max(written) < others:
            continue
        newest[run] = max(newest.get(run, 0), *written)
        assert run not in begun or stored[run] == newest[run], f"{stored}, not {newest}"


@dataclass(frozen=True, slots=True)
class Variant:
    """Agents, and how they run.

    Attributes:
      tree: name of the tree.
      resumable: whether the app is.
      chained: whether the provider keeps what the models say, and gets what is new alone.
      parks: whether an invocation that is started often is parked.
    """

    tree: str
    resumable: bool = False
    chained: bool = False
    parks: bool = False

    @classmethod
    def of(cls, number: int) -> Variant:
        """Return the variant of the seed with a number."""
        chance = Random(f"variant/{number}")
        name = TREES[int(chance.random() * len(TREES))]
        return cls(name, chance.random() < 0.5, chance.random() < 0.5, chance.random() < 0.25)

    def make_app(self, provider: Provider | None) -> App:
        """Return the app of a process."""
        tools = [act, LongRunningFunctionTool(order), FunctionTool(pay, require_confirmation=True)]
        root = tree(self.tree, tools, provider, parks=self.parks)
        resumability = ResumabilityConfig(is_resumable=True) if self.resumable else None
        return App(name="talk", root_agent=root, resumability_config=resumability)


class _Writes:
    count = 0


async def act(what: str, tool_context: ToolContext) -> str:
    """Do something, and write a key that others write, too, and one that tells when."""
    assert tool_context.idempotency_key
    for _ in range(2):
        _Writes.count += 1
        tool_context.state["last"] = _Writes.count
        tool_context.state[f"wrote {tool_context.function_call_id}"] = _Writes.count
        await asyncio.sleep(0.1)
    return "ok"


async def order(what: str, tool_context: ToolContext) -> str:
    """Order something."""
    return await act(what, tool_context)


async def pay(what: str, tool_context: ToolContext) -> str:
    """Pay, once somebody has approved it."""
    return await act(what, tool_context)


def play(seed: int | str, variant: Variant | None = None, **options: Any) -> SimulationReport:
    """Play a run; return what it found.

    Args:
      seed: number of the seed, or the text that a failure printed.
      variant: what runs; by default that of the seed.
      **options: as for `simulate`.
    """
    number = int(seed.split("-")[2]) if isinstance(seed, str) else seed
    variant = variant or Variant.of(number)
    settings: dict[str, Any] = {
        "actions": LENGTH,
        "messages": KINDS,
        "model": "own",
        "faults": _FAULTS,
        "host_actions": ACTIONS,
        "always": [no_invented_payment],
        "eventually": [keeps_newest_write],
        "seconds": 0.5,
        "max_attempts": _POISON if variant.parks else NEVER_PARKED,
    }
    make_app = partial(variant.make_app, Provider() if variant.chained else None)
    return simulate(make_app, seed=seed, **{**settings, **options})

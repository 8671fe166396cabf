"""What has to be true of a talk once it is settled, however often its processes died."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ostinato.events import Event
from ostinato.sessions.log.resume import RERUN
from ostinato.sessions.store.keyed_requests import CONTENT_DIGEST
from tests.crash.program import APP, NAMES, PLACE, USER, Program, Ways
from tests.crash.scenarios import CONFIRM, Scenario
from tests.crash.stores import opened, rows_left
from tests.crash.world import World
from tests.unit.flows.kit import unanswered

_CALL_ID = re.compile(r"adk-[0-9a-f-]+")


class Talk:
    """A settled talk, as another process reads it.

    Attributes:
      events: its log.
      state: its state.
      left: what is left of leases, inbox, journal and hidden sessions.
    """

    def __init__(self, events: list[Event], state: dict[str, Any], left: list[str]) -> None:
        self.events = events
        self.state = state
        self.left = left

    @property
    def flagged(self) -> set[str]:
        """What the calls do that were flagged as run again, or run again by the user's leave."""
        again = {i for e in self.events for i in (e.custom_metadata or {}).get(RERUN, ())}
        again |= {i for e in self.events if _asks_again(e) for i in _confirmations(e)}
        calls = [call for event in self.events for call in event.get_function_calls()]
        return {str(call.args["what"]) for call in calls if call.args and call.id in again}

    def canonical(self) -> dict[str, list[Any]]:
        """Return the log without ids, times, flags and questions whether to run a tool again, by
        invocation and branch.
        """
        began = {e.invocation_id: _text(e) for e in reversed(self.events) if e.author == "user"}
        asked = {c.id for e in self.events if _asks_again(e) for c in e.get_function_calls()}
        names: dict[str, dict[str, str]] = {}
        found: dict[str, list[Any]] = {}
        for event in self.events:
            answers = event.author == "user" and event.get_function_responses()
            if _asks_again(event) or _only_flags(event) or (answers and answers[0].id in asked):
                continue
            began_with = str(began.get(event.invocation_id))
            item = _canonical(event, names.setdefault(began_with, {}))
            branch = _CALL_ID.sub("call", event.branch or "")
            found.setdefault(f"{began_with} / {branch}", []).append(item)
        return found


def _asks_again(event: Event) -> bool:
    """Tell whether an event asks whether a tool that was interrupted is to be run again."""
    hints = [c.hint for c in event.actions.requested_tool_confirmations.values()]
    hints += [(c.args or {}).get("toolConfirmation", {}).get("hint") or "" for c in _asks(event)]
    return any("was interrupted" in (hint or "") for hint in hints)


def _asks(event: Event) -> list[Any]:
    return [call for call in event.get_function_calls() if call.name == CONFIRM]


def _confirmations(event: Event) -> set[str]:
    """Return the calls that an event wants to be confirmed."""
    return set(event.actions.requested_tool_confirmations)


def _only_flags(event: Event) -> bool:
    return event.content is None and RERUN in (event.custom_metadata or {})


@dataclass
class Report:
    """A talk, and what is wrong with it."""

    talk: Talk
    wrong: list[str]


async def read(service: Any) -> Talk:
    session = await service.get_session(**NAMES)
    left = [f"open lease {lease}" for lease in await service.open_leases(APP)]
    left += [f"stuck lease {lease}" for lease in await service.open_leases(APP, stuck=True)]
    left += [f"message {message}" for message in await service.messages(PLACE)]
    lease = await service.lease(PLACE)
    if lease is not None and lease.owner:
        left.append(f"lease {lease}")
    return Talk(list(session.events), dict(session.state), left)


def compare(talk: Talk, reference: Talk, world: World, deaths: int) -> Iterator[str]:
    """Yield what is wrong with a talk.

    Args:
      talk: the talk.
      reference: the same one, in which nobody died.
      deaths: how many processes died.
    """
    yield from (f"left: {left}" for left in talk.left)
    yield from (f"fault: {fault}" for fault in world.faults.items())
    stored = Counter(event.id for event in talk.events)
    yield from (f"event {i} is stored {n} times" for i, n in stored.items() if n > 1)
    for name, record in (("handed on", world.handed), ("confirmed", world.acknowledged)):
        yield from (f"event {i}, {name}, is lost" for i in set(record.items()) - set(stored))
    yield from (f"no answer to {name}" for name in unanswered(talk.events))
    for place in talk.canonical().keys() | reference.canonical().keys():
        ours, theirs = talk.canonical().get(place), reference.canonical().get(place)
        if ours != theirs:
            yield f"the log of {place} differs:\n{_difference(ours or [], theirs or [])}"
    if talk.state != reference.state:
        yield f"the state is {talk.state}, not {reference.state}"
    if fold(talk.events) != talk.state:
        yield f"the state {talk.state} is not what the log tells, {fold(talk.events)}"
    yield from _effects(talk, reference, world, deaths)


def _effects(talk: Talk, reference: Talk, world: World, deaths: int) -> Iterator[str]:
    wanted = {
        str(call.args["what"])
        for event in reference.events
        for call in event.get_function_calls()
        if call.args and "what" in call.args
    }
    done = world.effects.items()
    keys: dict[str, set[str | None]] = {}
    times = Counter(item["what"] for item in done)
    for item in done:
        keys.setdefault(item["what"], set()).add(item["key"])
    yield from (f"{what} was not done" for what in wanted - set(times))
    for what, count in times.items():
        if None not in keys[what]:
            if len(keys[what]) > 1:
                yield f"{what} was done {len(keys[what])} times: {keys[what]}"
        elif count > 1 + deaths:
            yield f"{what} has no key and was done {count} times after {deaths} deaths"
        hidden = what not in wanted  # done in a session of its own, of which nothing is left
        if count > 1 and what not in talk.flagged and not hidden:
            yield f"{what} was run {count} times, and no event says so"


def fold(events: Sequence[Event]) -> dict[str, Any]:
    """Return the state that a log leads to."""
    state: dict[str, Any] = {}
    for event in events:
        for key, value in event.actions.state_delta.items():
            if key.startswith("temp:"):
                continue
            if value is None:
                state.pop(key, None)
            else:
                state[key] = value
    return state


def repeats(world: World) -> int:
    """Return how many effects were begun again."""
    return sum(n - 1 for n in Counter(i["what"] for i in world.effects.items()).values())


def _text(event: Event) -> str:
    parts = (event.content.parts if event.content else None) or []
    return " ".join(part.text or "an answer" for part in parts)


def _canonical(event: Event, names: dict[str, str]) -> Any:
    def named(call_id: str) -> str:
        return names.setdefault(call_id, f"call {len(names)}")

    data = event.model_dump(mode="json", exclude_none=True, by_alias=False)
    for key in ("id", "invocation_id", "timestamp", "branch"):
        data.pop(key, None)
    metadata = data.pop("custom_metadata", {})
    for key in (RERUN, CONTENT_DIGEST):  # a resumed run, or a message sent again, has them
        metadata.pop(key, None)
    if metadata:
        data["custom_metadata"] = metadata
    delta = data["actions"].get("artifact_delta")
    if delta:
        data["actions"]["artifact_delta"] = sorted(delta)  # saved again, a file has a new version
    place = data.get("node_info", {})
    if "path" in place:
        place["path"] = _CALL_ID.sub("call", place["path"])
        place["output_for"] = [_CALL_ID.sub("call", p) for p in place.get("output_for", ())]
    data = _renamed(data, named)
    if "long_running_tool_ids" in data:
        data["long_running_tool_ids"].sort()  # a set, in no order
    return data


def _renamed(data: Any, named: Any) -> Any:
    """Put names that are the same in each run in the place of ids of calls."""
    if isinstance(data, list):
        return [_renamed(item, named) for item in data]
    if isinstance(data, str):
        return named(data) if data.startswith("adk-") else data
    if isinstance(data, dict):
        return {_renamed(key, named): _renamed(value, named) for key, value in data.items()}
    return data


def _difference(ours: list[Any], theirs: list[Any]) -> str:
    lines: list[str] = []
    for number in range(max(len(ours), len(theirs))):
        one = ours[number] if number < len(ours) else "nothing"
        other = theirs[number] if number < len(theirs) else "nothing"
        mark = " " if one == other else "!"
        lines.append(f"  {mark} is     {_short(one)}")
        if one != other:
            lines.append(f"  {mark} wanted {_short(other)}")
    return "\n".join(lines)


def _short(data: Any) -> str:
    if isinstance(data, dict):
        kept = {k: _short(v) for k, v in data.items() if v not in ({}, [], None, False)}
        return "{" + ", ".join(f"{k}: {v}" for k, v in kept.items()) + "}"
    return str(data)


async def examine(scenario: Scenario, world: World, reference: Talk | None, deaths: int) -> Report:
    """Read the settled talk, check it, and take one more turn."""
    service = opened(world)
    talk = await read(service)
    talk.left += rows_left(world)
    wrong = [] if reference is None else list(compare(talk, reference, world, deaths))
    program = Program(scenario, world, Ways(), service)
    try:
        await asyncio.wait_for(program.hand_on(new_message="And now?"), 120)
    except Exception as error:
        wrong.append(f"the next turn raised {type(error).__name__}: {error}")
    await program.runner.close()
    after = await read(service)
    wrong += [f"after the next turn, {left}" for left in after.left]
    last = after.events[-1]
    if last.author == USER or not last.is_final_response():
        wrong.append(f"the next turn ended with {_short(last.model_dump(exclude_none=True))}")
    wrong += [f"fault: {f}" for f in world.faults.items() if not any(f in w for w in wrong)]
    await service.close()
    return Report(talk, wrong)

"""Stops processes in the middle of their work, has others take over, and lets them go on.

    python -m tests.crash.zombies --zombies 60 --seed 1

A process that was taken over adds no event and starts no effect; only a call that it had begun
before it was stopped may still take effect, under the key that the other process used too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.crash import checks
from tests.crash.program import Program, Ways, live, seem_away, watched
from tests.crash.scenarios import SCENARIOS
from tests.crash.stores import opened, opened_with_fail_point
from tests.crash.trial import AWAY_SECONDS, Trials, be_child, in_child, warm
from tests.crash.world import World

_SIDE_BY_SIDE = 3  # calls of one response at most
# What asks the user before it runs again would wait for an answer that never comes; what parks or
# renews does not pass the same places each time.
_LEFT_OUT = ("confirmation", "queued", "parked", "renewed")
NAMES = [name for name in SCENARIOS if not any(each in name for each in _LEFT_OUT)]


def be_process(name: str, world: World, number: int) -> bytes:
    """Be one process; each seems to be on a host of its own, and its lease ends soon."""
    seem_away(number)

    async def main() -> None:
        service = watched(world, opened_with_fail_point(world))
        # Not where another thread of it writes just then: it would have the file locked.
        world.point.between = service._writer._connections[0].lock
        world.point.within = ("within append",)
        scenario, ways = SCENARIOS[name], Ways(away=True)
        await live(Program(scenario, world, ways, service, lease_seconds=AWAY_SECONDS))

    asyncio.run(main())
    return b""


def run_zombie(made: Trials, name: str, at: int) -> tuple[list[str], Counter[str]]:
    """Stop a process at a fail point, take over, let it go on; return what is wrong, and counts."""
    room = made.room()
    world = World(room, at, signal.SIGSTOP)
    pid = os.fork()
    if pid == 0:
        be_child(lambda: be_process(name, world, 1), room / "zombie", os.open(os.devnull, 1))
    _, status = os.waitpid(pid, os.WUNTRACED)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    if os.WIFSTOPPED(status):
        counts["zombies"] += 1
        ended, _ = in_child(lambda: be_process(name, World(room), 2), room / "other")
        if ended != 0:
            wrong.append(f"the other process ended with {ended}: {(room / 'other').read_text()}")
        before, effects = _log(room), world.effects.items()
        os.kill(pid, signal.SIGCONT)
        os.waitpid(pid, 0)
        after = _log(room)
        place = world.died.items()[-1]["name"]
        if after != before:
            wrong.append(f"stopped {place}: it added {len(after) - len(before)} events")
        late = world.effects.items()[len(effects) :]
        counts["late effects"] += len(late)
        counts["taken over"] += len(before) > 0
        known = {(item["what"], item["key"]) for item in effects}
        wrong += [
            f"stopped {place}: it began {item['what']}"
            for item in late
            if (item["what"], item["key"]) not in known
        ]
        if len(late) > _SIDE_BY_SIDE:
            wrong.append(f"stopped {place}: it had {len(late)} late effects")
    elif status != 0:
        wrong.append(f"it was not stopped, but ended: {(room / 'zombie').read_text()}")
    shutil.rmtree(room)
    return wrong, counts


def _log(folder: Path) -> list[str]:
    """Return the ids of the stored events, read in a process of its own."""

    async def read() -> list[str]:
        service = opened(World(folder))
        talk = await checks.read(service)
        await service.close()
        return [event.id for event in talk.events]

    code, written = in_child(lambda: json.dumps(asyncio.run(read())).encode())
    assert code == 0
    ids: list[str] = json.loads(written)
    return ids


def _places(points: list[str]) -> list[int]:
    """Return the fail points where there is something to take over, and where nobody is kept out of
    the file: a process that is stopped within its own transaction of SQLite has it locked.
    """
    first = next(i for i, point in enumerate(points) if point.startswith("after append claim"))
    found = [(i + 1, point) for i, point in enumerate(points) if i >= first]
    # What the program does after its first run, it does as somebody new.
    last = next(i for i, point in found if point == "before release")
    return [i for i, point in found if point != "within append" and i <= last]


def run(number: int, seed: int) -> dict[str, Any]:
    """Run so many zombies at places that the seed chooses."""
    chance = random.Random(seed)
    warm()
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        made = Trials(Path(name))
        places = {each: _places(made.reference(each).points) for each in NAMES}
        while counts["zombies"] < number and not failures:
            scenario = chance.choice(NAMES)
            at = chance.choice(places[scenario])
            wrong, found = run_zombie(made, scenario, at)
            counts += found
            failures += [f"{scenario} {at}: {what}" for what in wrong]
    return {"failures": failures, **counts}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--zombies", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    figures = run(args.zombies, args.seed)
    print(json.dumps(figures, indent=1))
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Kills processes at every place where a program may die, and counts what is lost or done twice.

    make crash                         10,000 kills
    make crash KILLS=500 SEED=7        fewer, and others
    make crash STORE=postgres          in databases of their own on a server
    make crash REPLAY=single:12,3:g    one trial again, as a failure names it

First each fail point of each scenario once, then two and three deaths in a row and deaths at any
instruction, by the seed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pickle
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.crash.program import Ways
from tests.crash.scenarios import SCENARIOS
from tests.crash.stores import STORES, databases
from tests.crash.trial import Outcome, Trial, Trials, warm

_SHOWN = 20  # failures that are told in full
_SERVER_PACE = 4.0


def trials(points: dict[str, int], seed: int, pace: float) -> Iterator[Trial]:
    """Yield trials without end.

    Args:
      points: how many fail points each scenario has.
      seed: which trials come after the systematic ones, and the order of those.
      pace: by how much a process takes longer than over SQLite.
    """
    chance = random.Random(seed)
    singles = [Trial(name, (at,)) for name, count in points.items() for at in range(1, count + 1)]
    chance.shuffle(singles)
    yield from singles
    names = list(points)
    while True:
        name = chance.choice(names)
        ways = Ways(chance.random() < 0.6, chance.random() < 0.4, chance.random() < 0.05)
        if "task" in name:  # what answers a task goes on with an invocation that no key names
            ways = replace(ways, keyed=False)
        if chance.random() < 0.2:
            kills: list[int | float] = [
                round(chance.uniform(0.001, 0.04) * pace, 4) for _ in range(chance.randint(1, 3))
            ]
        else:
            kills = [chance.randint(1, points[name])]
            # Those that come later have less to do, so that high numbers would never be reached.
            kills += [
                int(chance.triangular(1, points[name], 1)) for _ in range(chance.randint(0, 2))
            ]
        yield Trial(name, tuple(kills), ways)


class Lane:
    """A process that runs every n-th trial until its share of kills is done."""

    def __init__(self, folder: Path, number: int, url: str) -> None:
        self.results = folder / f"lane{number}"
        self._number = number
        self._url = url

    def start(self, made: Trials, chosen: Iterator[Trial], lanes: int, kills: int) -> int:
        """Begin; return the process's number."""
        pid = os.fork()
        if pid:
            return pid
        code = 1
        made.url = self._url
        try:
            with self.results.open("wb") as file:
                for trial in itertools.islice(chosen, self._number, None, lanes):
                    outcome = made.run(trial)
                    outcome.points = []
                    pickle.dump(outcome, file)
                    kills -= outcome.kills
                    if kills <= 0:
                        break
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def outcomes(self) -> list[Outcome]:
        found: list[Outcome] = []
        with self.results.open("rb") as file:
            while file.peek(1):
                found.append(pickle.load(file))
        return found


def run(
    store: str, kills: int, seed: int, jobs: int, only: str, replay: list[str]
) -> dict[str, Any]:
    """Run trials; return the figures, with the failures among them."""
    with databases(store, jobs) as urls:
        return {"store": store, **_run(urls, kills, seed, only, replay)}


def _run(urls: list[str], kills: int, seed: int, only: str, replay: list[str]) -> dict[str, Any]:
    start = time.perf_counter()
    jobs = len(urls)
    warm(urls[0])
    assert threading.active_count() == 1, "a forked process would miss the other threads"
    room = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=room if room.is_dir() else None) as name:
        folder = Path(name)
        made = Trials(folder)  # whatever the store, the log has to be that of one in a file
        names = [name for name in SCENARIOS if only in name]
        if replay:
            names = list({Trial.of(text).scenario for text in replay})
        outcomes = [made.reference(name) for name in names]
        made.url = urls[0]
        points = {outcome.trial.scenario: len(outcome.points) for outcome in outcomes}
        if replay:
            outcomes += [made.run(Trial.of(text)) for text in replay]
        else:
            lanes = [Lane(folder, number, url) for number, url in enumerate(urls)]
            shares = [kills // jobs + (number < kills % jobs) for number in range(jobs)]
            pace = _SERVER_PACE if urls[0] else 1.0
            running = [
                lane.start(made, trials(points, seed, pace), jobs, share)
                for lane, share in zip(lanes, shares, strict=True)
                if share
            ]
            broken = [pid for pid in running if os.waitpid(pid, 0)[1]]
            assert not broken, f"{len(broken)} lanes ended early"
            outcomes += [o for lane in lanes if lane.results.exists() for o in lane.outcomes()]
    return _figures(outcomes, seed, points, time.perf_counter() - start)


def _figures(
    outcomes: list[Outcome], seed: int, points: dict[str, int], seconds: float
) -> dict[str, Any]:
    failures = [
        {"trial": str(o.trial), "seed": seed, "places": o.places, "wrong": o.wrong}
        for o in outcomes
        if o.wrong
    ]
    single = {(o.trial.scenario, o.trial.kills[0]) for o in outcomes if len(o.trial.kills) == 1}
    return {
        "seed": seed,
        "trials": len(outcomes),
        "kills": sum(o.kills for o in outcomes),
        "resumes": sum(o.resumes for o in outcomes),
        "events": sum(o.events for o in outcomes),
        "effects": sum(o.effects for o in outcomes),
        "repeats": sum(o.repeats for o in outcomes),
        "flagged": sum(o.flagged for o in outcomes),
        "points": sum(points.values()),
        "covered": len([1 for _, at in single if isinstance(at, int)]),
        "scenarios": len(points),
        "seconds": round(seconds, 1),
        "failures": failures,
    }


def tell(figures: dict[str, Any]) -> None:
    """Print the figures and the failures."""
    for failure in figures["failures"][:_SHOWN]:
        print(f"\nFAILED {failure['trial']} (seed {failure['seed']})")
        print(f"  died at: {'; '.join(failure['places']) or 'any instruction'}")
        for wrong in failure["wrong"]:
            print(f"  - {wrong}")
        print(f"  again: make crash STORE={figures['store']} REPLAY='{failure['trial']}'")
    if figures["failures"]:
        by_scenario = Counter(f["trial"].split(":")[0] for f in figures["failures"])
        print("\nFailures:", ", ".join(f"{name} {n}" for name, n in by_scenario.most_common()))
    names = ("kills", "resumes", "events", "effects", "repeats", "flagged", "seconds")
    print(
        f"\n{figures['store']}: {figures['trials']} trials of {figures['scenarios']} scenarios, "
        f"{figures['covered']} of {figures['points']} fail points, seed {figures['seed']}: "
        + ", ".join(f"{figures[name]} {name}" for name in names)
        + f", {len(figures['failures'])} failures"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--store", choices=STORES, default="sqlite")
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="scenarios whose name holds this")
    parser.add_argument("--replay", nargs="*", default=[], help="trials, as failures name them")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    args = parser.parse_args()
    figures = run(args.store, args.kills, args.seed, args.jobs, args.only, args.replay)
    tell(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1))
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())

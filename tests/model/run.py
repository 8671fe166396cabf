"""Steps of two processes of one session, in an order that a seed decides, checked after each.

make model                        100,000 steps
make model STEPS=5000 SEED=7      fewer, and others
make model REPLAY=1:42            one episode again, as a failure names it, step by step
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import time
from collections import Counter
from typing import Any

from tests.model.machine import Machine
from tests.model.process import History

EPISODE = 400  # steps of an episode, before it settles


def run(steps: int, seed: int) -> dict[str, Any]:
    """Run episodes until so many steps are taken; return the figures, with the failures."""
    start = time.perf_counter()
    figures: Counter[str] = Counter()
    operations: Counter[str] = Counter()
    failures: list[str] = []
    number = 0
    while figures["steps"] < steps:
        name = f"{seed}:{number}"
        machine, taken, wrong = episode(name)
        figures["steps"] += max(taken, 1)
        operations += machine.done
        add(figures, machine.history)
        if wrong:
            failures.append(f"{name}  {wrong}")
        number += 1
    names = ("steps", "events", "effects", "repeats", "tokens", "take-overs", "refused", "late")
    return {
        "seed": seed,
        "episodes": number,
        **{name: figures[name] for name in names},
        "operations": dict(operations),
        "seconds": round(time.perf_counter() - start, 1),
        "failures": failures,
    }


def episode(name: str) -> tuple[Machine, int, str]:
    """Run one episode; return it, its steps, and what is wrong."""
    machine, taken, wrong = Machine(name), 0, ""
    try:
        taken = machine.run(EPISODE)
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    return machine, taken, wrong or next(iter(machine.history.faults), "")


def add(figures: Counter[str], history: History) -> None:
    figures["events"] += len(history.ids)
    figures["effects"] += sum(history.effects.values())
    figures["repeats"] += sum(history.effects.values()) - len(history.effects)
    figures["tokens"] += history.token
    figures["take-overs"] += history.taken_over
    figures["refused"] += history.refused
    figures["late"] += history.late


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", default="", help="an episode, as a failure names it")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if args.replay:
        machine, _, wrong = episode(args.replay)
        print("\n".join(machine.trace))
        for record in machine.store._sessions[next(iter(machine.store._sessions))].log.records:
            print(f"{record.invocation_id}  {record.author}: {record.data[:300]}")
        print(wrong or "nothing is wrong")
        return 1 if wrong else 0
    gc.freeze()
    figures = run(args.steps, args.seed)
    for failure in figures["failures"][:20]:
        print(f"FAILED {failure}\n  again: make model REPLAY={failure.split()[0]}")
    operations = figures.pop("operations")
    failures = figures.pop("failures")
    print(", ".join(f"{value} {name}" for name, value in figures.items() if name != "seed"), end="")
    print(f", seed {args.seed}, {len(failures)} failures")
    print("done:", ", ".join(f"{count} {name}" for name, count in operations.items()))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

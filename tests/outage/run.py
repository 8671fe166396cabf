"""Takes the store away in the middle of turns, and sees that the next message is answered.

python -m tests.outage.run --store sqlite --rounds 500 --seed 1
python -m tests.outage.run --store postgres --rounds 500   # through a proxy that is cut
python -m tests.outage.run --store mariadb --rounds 500
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
from collections import Counter

from tests.outage.stores import STORES, place_of
from tests.outage.trial import Outage, Outcome, Process, try_outage

_SHOWN = 20  # faults that are printed in full


async def run_rounds(
    store: str, rounds: int, seed: int, ways: tuple[str, ...] = ()
) -> list[tuple[Outage, Outcome]]:
    """Run trials one after another, each in a session of its own.

    Args:
      store: one of `STORES`.
      rounds: how many.
      seed: which.
      ways: in which ways the store goes; all that it has, if empty.

    Returns:
      Each trial's plan and outcome.
    """
    chance = random.Random(seed)
    done: list[tuple[Outage, Outcome]] = []
    with place_of(store) as place:
        one, two = Process(place), Process(place)
        try:
            await one.service.create_session(app_name="app", user_id="ann", session_id="first")
            await two.service.create_session(app_name="app", user_id="ann", session_id="second")
            for number in range(rounds):
                plan = Outage.random(chance, ways or place.ways)
                outcome = await try_outage(one, two, place, plan, f"s{number}")
                done.append((plan, outcome))
                if outcome.faults:
                    print(f"{number}: {plan}\n  {outcome.faults}", flush=True)
        finally:
            await one.service.close()
            await two.service.close()
    return done


def main() -> int:
    """Run trials and print a summary; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=STORES, default="sqlite")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    done = asyncio.run(run_rounds(chosen.store, chosen.rounds, chosen.seed))
    wrong = [(plan, outcome) for plan, outcome in done if outcome.faults]
    took = sorted(outcome.seconds for _, outcome in done)
    ends = Counter(outcome.ended for _, outcome in done)
    print(f"{chosen.store}: {len(done)} outages, {len(wrong)} with faults")
    print("turns: " + ", ".join(f"{count} {name}" for name, count in ends.most_common()))
    print(f"next message: median {took[len(took) // 2]:.2f} s, slowest {took[-1]:.2f} s")
    print(f"slowest: {max(done, key=lambda one: one[1].seconds)[0]}")
    for plan, outcome in wrong[:_SHOWN]:
        print(f"{plan}\n  {outcome.faults}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Steps of two processes of one session, in an order made from a seed, checked after each commit.

make model                        100,000 steps: what users, hosts and faults do
make model STEPS=5000 SEED=7      fewer, and others; the same again from the same seed
make model REPLAY=sim3-...        a failure again, as it was told

What fails is told as the steps that suffice for it, and as a seed of `simulate`.
"""

from __future__ import annotations

import argparse
import sys

from ostinato.testing import SimulationReport
from tests.model.model import LENGTH, play

_SEEDS = 1_000_000  # numbers of runs that belong to one seed


def run(steps: int, seed: int) -> SimulationReport:
    """Take so many steps or more; return the figures, and the first failure."""
    report = SimulationReport()
    for number in range(-(-steps // LENGTH)):
        played = play(seed * _SEEDS + number)
        report.runs += 1
        report.figures.update(played.figures)
        report.failures += played.failures
        report.seconds += played.seconds
        report.digest = (report.digest * 31 + played.digest) % 2**32
        if played.failures:
            break
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", default="")
    args = parser.parse_args()
    report = play(args.replay, shrink=False) if args.replay else run(args.steps, args.seed)
    print(report)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())

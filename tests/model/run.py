"""Steps of two processes of one session, in an order that Hypothesis decides, checked after each.

make model                        100,000 steps
make model STEPS=5000 SEED=7      fewer, and others; the same again from the same seed

What fails is told as the shortest sequence of steps that Hypothesis finds for it.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import time
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine

LENGTH = 60  # steps of one machine at most
_TAKEN = 45  # that it takes at the least, on the average
EVERY_CHECK: list[Any] = list(HealthCheck)
SETTINGS = settings(
    stateful_step_count=LENGTH,
    deadline=None,
    database=None,
    print_blob=True,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=EVERY_CHECK,
)


def run(steps: int, number: int) -> dict[str, Any]:
    """Take so many steps or more, in an order made from a seed; return the figures.

    Raises:
      Exception: what failed, with the steps that lead there among its notes.
    """
    start = time.perf_counter()

    @seed(number)
    class Seeded(Machine):
        figures = type(Machine.figures)()
        has_failed = False

        def teardown(self) -> None:
            try:
                super().teardown()
            except Exception as error:
                self._announce(error)
                raise

        def _check(self) -> None:
            try:
                super()._check()
            except Exception as error:
                self._announce(error)
                raise

        def _announce(self, error: Exception) -> None:
            """Say at once what failed: to find the shortest steps for it takes minutes."""
            if not Seeded.has_failed:
                Seeded.has_failed = True
                print(f"Failed after {self.figures['steps']} steps: {error}", file=sys.stderr)
                print("Looking for the shortest steps that fail so.", file=sys.stderr, flush=True)

    run_state_machine_as_test(Seeded, settings=settings(SETTINGS, max_examples=-(-steps // _TAKEN)))
    return {**Seeded.figures, "seconds": round(time.perf_counter() - start, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    gc.freeze()
    figures = run(args.steps, args.seed)
    print(", ".join(f"{value} {name}" for name, value in figures.items()) + f", seed {args.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

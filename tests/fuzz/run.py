"""Send the server thousands of requests made from its OpenAPI document, and want no answer of 5xx.

    python -m tests.fuzz.run --cases 5000 --workers 2 --seed 1

`make fuzz` and `make check` call it. It makes the environment with schemathesis, and runs there.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys

from tests.wire.environments import ROOT, set_up


def main() -> int:
    """Start the workers side by side; return whether one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    python = set_up("fuzz")
    share = -(-given.cases // given.workers)
    processes = [
        subprocess.Popen(
            [str(python), "-m", "tests.fuzz.attack", str(share), str(given.seed + number)], cwd=ROOT
        )
        for number in range(given.workers)
    ]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        return max(process.wait() for process in processes)
    finally:
        for process in processes:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())

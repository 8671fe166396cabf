"""Has ten clients approve the same call at once, over two servers on one store, again and again.

    python -m tests.approvals.run                                   100 rounds on SQLite
    python -m tests.approvals.run --rounds 1000 --store postgres    in a database of its own

Each round has to pay once, and to refuse all answers but one with 409.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.approvals.rounds import play
from tests.support.databases import SERVERS, new_database


def main() -> int:
    """Play the rounds; return 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--store", choices=["sqlite", *SERVERS], default="sqlite")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        db = "sessions.db"
        if args.store != "sqlite":
            db = stack.enter_context(new_database(args.store))
        outcome = asyncio.run(play(folder, db, args.rounds, args.clients, args.at_once))
    for fault in outcome.faults[:20]:
        print(fault)
    print(f"{args.rounds} rounds, {dict(outcome.statuses)}, {len(outcome.faults)} faults")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())

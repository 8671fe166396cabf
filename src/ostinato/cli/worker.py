"""The command `ostinato worker`: run what was submitted for an agent, until a signal ends it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys

from ..durable.engine import Engine
from ..runners import Runner
from ..workers.dbos_engine import DBOSEngine
from ..workers.pool import WorkerPool
from .failure import INTERRUPTED, USAGE, CliError
from .loader import load
from .services import Store, runner_of, store_of
from .stand_in import llm_agents


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    for option, value in (("--concurrency", args.concurrency), ("--lease", args.lease)):
        if not value > 0:
            raise CliError(f"{option} has to be more than 0, not {value}.", USAGE)
    if args.grace < 0:
        raise CliError(f"--grace has to be 0 or more, not {args.grace}.", USAGE)
    loaded = load(args.path)
    for agent in llm_agents(loaded.root):
        _ = agent.canonical_model  # a worker without its model would only fail one after the other
    _log_to_stderr()
    sessions, places = store_of(args.db)
    runner = runner_of(loaded, sessions, places, lease_seconds=args.lease)
    return asyncio.run(_serve(args, runner, sessions))


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("ostinato")
    log.addHandler(handler)
    log.setLevel(logging.INFO)


async def _serve(args: argparse.Namespace, runner: Runner, sessions: Store) -> int:
    engine = _engine(args, runner)
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        engine.stop()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, engine.stop)
    loop.add_signal_handler(signal.SIGINT, interrupt)
    logging.getLogger(__name__).info("working for %s", runner.app_name)
    try:
        await engine.serve(drain=args.once)
    finally:
        await runner.close()
        await sessions.close()
    return INTERRUPTED if interrupted else 0


def _engine(args: argparse.Namespace, runner: Runner) -> Engine:
    if args.engine == "dbos":
        return DBOSEngine(runner, args.db, concurrency=args.concurrency, grace_seconds=args.grace)
    return WorkerPool(runner, concurrency=args.concurrency, grace_seconds=args.grace)

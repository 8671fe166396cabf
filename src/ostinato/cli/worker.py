"""The command `ostinato worker`: run what was submitted for an agent, until a signal ends it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

from .._log import get_logger
from ..hosting.loader import load
from ..hosting.services import THROUGH_ALIAS, Store, runner_of, store_of
from ..runners import Runner
from ..workers.dbos_engine import DBOSEngine
from ..workers.pool import WorkerPool
from .failure import FAILED, INTERRUPTED, USAGE, CliError
from .stand_in import llm_agents

logger = get_logger(__name__)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    for option, value in (("--concurrency", args.concurrency), ("--lease", args.lease)):
        if not value > 0:
            raise CliError(f"{option} has to be more than 0, not {value}.", USAGE)
    if args.grace < 0:
        raise CliError(f"--grace has to be 0 or more, not {args.grace}.", USAGE)
    loaded = load(args.path, args.allow_code_from)
    for agent in llm_agents(loaded.root):
        _ = agent.canonical_model  # a worker without its model would only fail one after the other
    sessions, places = store_of(args.db)
    runner = runner_of(loaded, sessions, places, lease_seconds=args.lease)
    engine = _engine(args, runner)
    with _log_to_stderr():
        if loaded.through_alias:
            logger.info(THROUGH_ALIAS)
        return asyncio.run(_serve(engine, args.once, runner, sessions))


@contextmanager
def _log_to_stderr() -> Generator[None]:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("ostinato")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


async def _serve(
    engine: WorkerPool | DBOSEngine, once: bool, runner: Runner, sessions: Store
) -> int:
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        engine.stop()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, engine.stop)
    loop.add_signal_handler(signal.SIGINT, interrupt)
    logger.info("working for %s", runner.app_name)
    try:
        await engine.serve(drain=once)
    finally:
        await runner.close()
        await sessions.close()
    if interrupted:
        return INTERRUPTED
    return FAILED if once and engine.failed else 0


def _engine(args: argparse.Namespace, runner: Runner) -> WorkerPool | DBOSEngine:
    if args.engine == "dbos":
        return DBOSEngine(runner, args.db, concurrency=args.concurrency, grace_seconds=args.grace)
    return WorkerPool(runner, concurrency=args.concurrency, grace_seconds=args.grace)

"""The command `ostinato worker`: runs submitted messages until a signal stops it."""

from __future__ import annotations

import argparse
import asyncio
import signal
from pathlib import Path

from .._log import get_logger
from ..hosting.command_runners import (
    THROUGH_ALIAS,
    Store,
    closing_runner,
    read_policy,
    runner_of,
    store_of,
)
from ..hosting.loader import load_agent
from ..hosting.log_setup import log_to_stderr
from ..hosting.places import traces_file
from ..hosting.stand_in import check_agent_model, llm_agents
from ..hosting.store_address import parse_store
from ..hosting.stores import keep_spans
from ..runners import Runner
from ..telemetry.export import start_export
from ..workers.dbos_engine import DBOSEngine
from ..workers.pool import WorkerPool
from .cli_error import FAILED, INTERRUPTED, USAGE, CliError

logger = get_logger(__name__)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    for option, value in (("--concurrency", args.concurrency), ("--lease", args.lease)):
        if not value > 0:
            raise CliError(f"{option} has to be more than 0, not {value}.", USAGE)
    if args.grace < 0:
        raise CliError(f"--grace has to be 0 or more, not {args.grace}.", USAGE)
    loaded = load_agent(args.path, args.allow_code_from)
    for agent in llm_agents(loaded.root):
        check_agent_model(agent)  # otherwise every message would fail
    sessions, places = store_of(args.db)
    policy = read_policy(args.policy)
    runner = runner_of(loaded, sessions, places, lease_seconds=args.lease, policy=policy)
    engine = _make_engine(args, runner)
    with log_to_stderr(args.log_level, args.log_format):
        if loaded.through_alias:
            logger.info(THROUGH_ALIAS)
        end_export = start_export()
        try:
            traces = traces_file(args.traces, places)
            return asyncio.run(_serve_engine(engine, args.once, runner, sessions, traces))
        finally:
            end_export()


async def _serve_engine(
    engine: WorkerPool | DBOSEngine,
    once: bool,
    runner: Runner,
    sessions: Store,
    traces: Path | None,
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
    async with keep_spans(traces), closing_runner(runner, sessions):
        await engine.serve(drain=once)
    if interrupted:
        return INTERRUPTED
    return FAILED if once and engine.failed else 0


def _make_engine(args: argparse.Namespace, runner: Runner) -> WorkerPool | DBOSEngine:
    if args.engine == "dbos":
        url = parse_store(args.db).target
        return DBOSEngine(runner, url, concurrency=args.concurrency, grace_seconds=args.grace)
    return WorkerPool(runner, concurrency=args.concurrency, grace_seconds=args.grace)

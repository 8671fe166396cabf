"""1, 2 and 4 worker processes on one PostgreSQL, over the same backlog: a message for each of many
sessions and twenty for a busy one; a model of 50 ms, so that an invocation takes 0.1 s at best.

  scale_workers.py [--small] [--postgres postgresql+asyncpg://user@host/db]

Without a URL a server is started from the installed programs (with fsync off: it is the locks that
are measured, not the disk) and ended. The database's own tables of sessions are dropped between the
rounds, so name one that holds nothing else. Prints the rounds as JSON."""

import argparse
import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from scale import Bench  # noqa: E402

from ostinato.sessions import DatabaseSessionService  # noqa: E402
from ostinato.workers import WorkerPool  # noqa: E402

DELAY = 0.05
CONCURRENCY = 10
EVENTS = 4
SAMPLE_S = 0.02
BUSY = "busy"
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
STORED = "SELECT count(*) FROM events"
ENDS = "SELECT session_id, extract(epoch FROM max(timestamp)) FROM events GROUP BY session_id"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


def bench_on(url):
    """A runner on the database, with a model of 50 ms."""
    return Bench(DatabaseSessionService(url), delay=DELAY)


async def worker(url):
    """One worker process: serves from the first line of its standard input to the end of that, then
    prints what it has run."""
    bench = bench_on(url)
    model = bench.runner.agent.model
    pool = WorkerPool(bench.runner, concurrency=CONCURRENCY)
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.readline)
    serving = asyncio.create_task(pool.serve())
    await loop.run_in_executor(None, sys.stdin.read)
    pool.stop()
    await serving
    await bench.service.close()
    print(json.dumps({"invocations": model.answered, "failed": pool.failed}))


async def submitted(url, sessions, busy):
    """Put the backlog into the store."""
    bench = bench_on(url)
    names = [*["session-%d" % number for number in range(sessions)], *[BUSY] * busy]
    for name in dict.fromkeys(names):
        await bench.service.create_session(app_name="bench", user_id="u", session_id=name)
    for name in names:
        await bench.runner.submit(user_id="u", session_id=name, new_message="What is 2 + 3?")
    await bench.service.close()
    return len(names)


async def watched(db, wanted):
    """Ask the server until all events are there: how often a connection waited for a lock."""
    waits, samples = 0, 0
    while await db.fetchval(STORED) < wanted:
        waits += await db.fetchval(WAITS)
        samples += 1
        await asyncio.sleep(SAMPLE_S)
    return waits, samples


def at(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


async def round_of(url, workers, sessions, busy):
    """One round: the backlog first, then the workers."""
    import asyncpg

    db = await asyncpg.connect(url.replace("+asyncpg", ""))
    for row in await db.fetch(TABLES):
        await db.execute('DROP TABLE IF EXISTS "%s" CASCADE' % row[0])
    count = await submitted(url, sessions, busy)
    command = [sys.executable, __file__, "--worker", url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(workers)]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        began = time.time()
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        async with asyncio.timeout(300):
            waits, samples = await watched(db, count * EVENTS)
        seconds = time.time() - began
        ends = {name: float(end) - began for name, end in await db.fetch(ENDS)}
        told = [json.loads(p.communicate("")[0].splitlines()[-1]) for p in processes]
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    extra = await db.fetchval(STORED) - count * EVENTS
    await db.close()
    others = [end for name, end in ends.items() if name != BUSY]
    return {
        "workers": workers,
        "invocations": count,
        "seconds": seconds,
        "per_second": count / seconds,
        "by_worker": [each["invocations"] for each in told],
        "failed": sum(each["failed"] for each in told),
        "events_too_many": extra,
        "p50_s": statistics.median(others),
        "p99_s": at(others, 0.99),
        "busy_p99_s": ends[BUSY],
        "lock_waits": waits,
        "samples": samples,
    }


async def rounds(url, small):
    sessions, busy = (20, 3) if small else (600, 20)
    return [await round_of(url, workers, sessions, busy) for workers in (1, 2, 4)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--postgres")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        asyncio.run(worker(asked.worker))
        return 0
    with contextlib.ExitStack() as stack:
        url = asked.postgres
        if url is None:
            from tests.support.throwaway_postgres import postgres_binaries, throwaway_postgres

            binaries = postgres_binaries()
            if binaries is None:
                print("No PostgreSQL is installed; name one with --postgres.", file=sys.stderr)
                return 1
            url = stack.enter_context(throwaway_postgres(binaries))
        print(json.dumps(asyncio.run(rounds(url, asked.small))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

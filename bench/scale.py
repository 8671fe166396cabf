"""How the cost of Ostinato alone grows, and where one machine ends. Each part is a process of its
own and is kept in results/scale.json as soon as it is done:

  scale.py [history] [sessions] [shape] [workers] [soak] [--small] [--out FILE]

  history   one SQLite session of 100,000 events: open, next turn, list, page; about 40 s
  sessions  10,000 sessions at once in one process, a model of 50 ms; about 40 s
  shape     a turn by number of agents and of tools, a chunk by number of chunks; about 15 s
  workers   1, 2 and 4 processes on PostgreSQL, a model of 50 ms (scale_workers.py); about 60 s
  soak      1,000,000 events over 1,000 sessions on SQLite, a bounded cache (scale_soak.py): goes
            on where it stopped, for at most --seconds (600); only when named

`--small` takes a few seconds for all, to see that it works."""

import argparse
import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.models import BaseLlm, LlmResponse
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.base_session_service import GetSessionConfig
from ostinato.sessions.sqlite_session_service import SqliteSessionService

HERE = Path(__file__).resolve().parent
PAGE = os.sysconf("SC_PAGE_SIZE")
SSE = RunConfig(streaming_mode=StreamingMode.SSE)
APP = {"app_name": "bench", "user_id": "u"}
PARTS = ("history", "sessions", "shape", "workers")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def content(role, **part):
    """A content of one part."""
    return types.Content(role=role, parts=[types.Part(**part)])


class Quick(BaseLlm):
    """A call where the user spoke last, else a text; with chunks, a stream of so many."""

    delay: float = 0.0  # seconds
    chunks: int = 0
    answered: int = 0

    async def generate_content_async(self, llm_request, stream=False):
        if self.delay:
            await asyncio.sleep(self.delay)
        if stream and self.chunks:
            for _ in range(self.chunks):
                yield LlmResponse(content=content("model", text="word "), partial=True)
            yield LlmResponse(content=content("model", text="word " * self.chunks))
        elif llm_request.contents[-1].parts[-1].function_response is None:
            call = types.FunctionCall(id="call", name="add", args={"a": 2, "b": 3})
            yield LlmResponse(content=content("model", function_call=call))
        else:
            self.answered += 1
            yield LlmResponse(content=content("model", text="The answer is 5."))


class Bench:
    """A runner over one service."""

    def __init__(self, service, tools=(add,), sub_agents=(), **model):
        self.service = service
        agent = LlmAgent(
            name="bench",
            model=Quick(model="quick", **model),
            instruction="You add numbers.",
            tools=list(tools),
            sub_agents=list(sub_agents),
        )
        self.runner = Runner(
            agent=agent, app_name="bench", session_service=service, auto_create_session=True
        )

    async def turn(self, session, run_config=None):
        count = 0
        async for _ in self.runner.run_async(
            user_id="u", session_id=session, new_message="What is 2 + 3?", run_config=run_config
        ):
            count += 1
        return count


def rss():
    """Resident MB of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE / 1e6


async def timed(work, times):
    """Medians of some runs of a coroutine function: wall and CPU, in ms."""
    walls, cpus = [], []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        await work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {
        "wall_ms": statistics.median(walls) * 1e3,
        "cpu_ms": statistics.median(cpus) * 1e3,
    }


def sqlite(path, **more):
    return SqliteSessionService(str(path), synchronous="NORMAL", **more)


async def at_length(bench, path, events):
    """The figures of the long session at one length, and how many events it has now."""
    repeats = 5 if events < 50_000 else 2
    row = {"events": events, "next_turn": await timed(lambda: bench.turn("long"), 15)}

    async def opened():
        service = sqlite(path)
        found = await service.get_session(**APP, session_id="long")
        await service.close()
        return found

    async def read():
        return len((await opened()).events)

    async def woken():
        service = sqlite(path)
        await Bench(service).turn("long")
        await service.close()

    async def listed():
        page = await bench.service.list_sessions(app_name="bench", page_size=50)
        assert len(page.sessions) == 50

    async def recent():
        config = GetSessionConfig(num_recent_events=50)
        found = await bench.service.get_session(**APP, session_id="long", config=config)
        assert len(found.events) == 50

    row["open"] = await timed(opened, repeats)
    row["read_every_event"] = await timed(read, 1)
    row["first_turn_of_a_process"] = await timed(woken, repeats)
    row["list_50_of_1000"] = await timed(listed, 7)
    row["page_of_50"] = await timed(recent, 7)
    now = await read()
    assert now == events + 4 * (15 + repeats)
    return {**row, "rss_mb": rss(), "file_mb": size_mb(path)}, now


def size_mb(path):
    return sum(p.stat().st_size for p in path.parent.glob(path.name + "*")) / 1e6


async def history(small):
    """One session that grows to 100,000 events on SQLite, among 1,000 others."""
    points = (100, 1_000) if small else (100, 1_000, 10_000, 30_000, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sessions.db"
        bench = Bench(sqlite(path))
        for number in range(1000):
            await bench.service.create_session(**APP, session_id="other-%d" % number)
        rows, events = [], 0
        for point in points:
            began, before = time.perf_counter(), events
            while events < point - 60:
                await bench.turn("long")
                events += 4
            filling = (time.perf_counter() - began) / max(1, (events - before) // 4)
            row, events = await at_length(bench, path, events)
            rows.append({**row, "filling_turn_ms": filling * 1e3})
        await bench.service.close()
    return rows


class Collector:
    """The seconds that the garbage collector takes while this is entered."""

    def __enter__(self):
        self.seconds = 0.0
        gc.callbacks.append(self.saw)
        return self

    def __exit__(self, *error):
        gc.callbacks.remove(self.saw)

    def saw(self, phase, info):
        now = time.thread_time()
        if phase == "start":
            self.began = now
        else:
            self.seconds += now - self.began


async def at_once(count, kind):
    """So many sessions at once, each turn two model calls of 50 ms."""
    with tempfile.TemporaryDirectory() as folder:
        service = InMemorySessionService()
        if kind == "sqlite":
            service = sqlite(Path(folder) / "sessions.db")
        bench = Bench(service, delay=0.05)
        await bench.turn("warm")
        gc.collect()
        memory, wall, cpu = rss(), time.perf_counter(), time.process_time()
        ends = []

        async def one(number):
            assert await bench.turn("session-%d" % number) == 3
            ends.append(time.perf_counter() - wall)

        with Collector() as collector:
            await asyncio.gather(*[one(number) for number in range(count)])
        row = {
            "store": kind,
            "sessions": count,
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "collector_s": collector.seconds,
            "first_s": min(ends),
            "median_s": statistics.median(ends),
            "rss_growth_mb": rss() - memory,
        }
        if kind == "sqlite":
            await service.close()
    return row


async def sessions(small):
    """Sessions at once, in memory and on SQLite."""
    counts = (50, 100) if small else (100, 1_000, 10_000)
    return [await at_once(count, kind) for kind in ("memory", "sqlite") for count in counts]


def tool_named(name):
    """A tool of its own name, which nobody calls."""

    def spare(text: str, count: int = 1) -> str:
        """Repeat a text some times."""
        return text * count

    spare.__name__ = name
    return spare


async def shape(small):
    """A turn by number of tools and of agents, a chunk by number of chunks."""
    sizes = (1, 10) if small else (1, 10, 100, 1_000)
    found = {"tools": [], "agents": [], "chunks": []}
    for size in sizes:
        tools = [add, *[tool_named("spare_%d" % number) for number in range(size - 1)]]
        bench = Bench(InMemorySessionService(), tools=tools)
        found["tools"].append({"size": size, **await first_and_next(bench)})
        agents = [
            LlmAgent(name="agent_%d" % number, model=Quick(model="quick"), description="Helps.")
            for number in range(size - 1)
        ]
        bench = Bench(InMemorySessionService(), sub_agents=agents)
        found["agents"].append({"size": size, **await first_and_next(bench)})
    for chunks in (100, 400) if small else (100, 1_000, 10_000):
        bench = Bench(InMemorySessionService(), chunks=chunks)
        await bench.turn("warm", SSE)
        row = await timed(lambda: bench.turn("long", SSE), 3)  # noqa: B023
        found["chunks"].append({"size": chunks, "us_per_chunk": row["cpu_ms"] / chunks * 1e3})
    return found


async def first_and_next(bench):
    """The first turn of a runner, which compiles what the agent has, and a later one."""
    first = await timed(lambda: bench.turn("one"), 1)
    later = await timed(lambda: bench.turn("one"), 30)
    return {"first_turn_ms": first["cpu_ms"], "turn_ms": later["cpu_ms"]}


def part(name, arguments):
    """One part in a process of its own; its last line of output is the result."""
    script = {"workers": "scale_workers.py", "soak": "scale_soak.py"}.get(name, "scale.py")
    command = [sys.executable, str(HERE / script), *arguments]
    if script == "scale.py":
        command += ["--only", name]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("{", "["))]
    result = {"error": "exit code %d" % done.returncode}
    if lines and not done.returncode:
        result = {"result": json.loads(lines[-1])}
    return {**result, "seconds": round(time.monotonic() - began, 1)}


def main():
    """Read the command line; the exit code is 1 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seconds", type=int, default=600, help="the most that the soak takes")
    parser.add_argument("--out", default=str(HERE / "results" / "scale.json"))
    parser.add_argument("--only", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        work = {"history": history, "sessions": sessions, "shape": shape}[asked.only]
        print(json.dumps(asyncio.run(work(asked.small))))
        return 0
    from bench import machine

    out, small = Path(asked.out), ["--small"] if asked.small else []
    out.parent.mkdir(parents=True, exist_ok=True)
    data = json.loads(out.read_text()) if out.exists() else {}
    failed = False
    for name in asked.parts or PARTS:
        more = ["--seconds", str(asked.seconds)] if name == "soak" else []
        row = part(name, [*small, *more])
        data[name] = {**row, "machine": {**machine(), "small": asked.small}}
        out.write_text(json.dumps(data, indent=1))
        failed = failed or "error" in row
        print(name, row["seconds"], "s:", json.dumps(row)[:300], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Scenario code shared by every adapter. Standard library only; imports stay light so S1 is fair.

Run as:  python adapter_X.py <scenario> [key=value ...]   -> last stdout line is one JSON object.
"""

import json
import os
import sys
import time

PAGE = os.sysconf("SC_PAGE_SIZE")
USER_TEXT = "What is 2 + 3?"
FINAL_TEXT = "The answer is 5."
CHUNK = "word "
CAP_S = float(os.environ.get("BENCH_CAP_S", "120"))
CALLS = [0]  # tool calls really executed, checked after every scenario


class Script:
    """What the fake model does. One instance is shared by the whole process."""

    def __init__(self, steps=1, fan=1, tool="add", delay=0.0, chunks=0, wire=None, url=None):
        self.steps, self.fan, self.tool, self.delay, self.chunks = steps, fan, tool, delay, chunks
        self.wire, self.url = wire, url  # a real client of this format, against this server
        self.k = 0
        self.ids = 0

    def calls(self, last_is_user):
        """Number of tool calls to ask for, 0 for the final text; looks at the last item only."""
        if self.chunks:
            return 0
        if self.steps == 1:  # stateless, so many sessions may share it
            return self.fan if last_is_user else 0
        if last_is_user:
            self.k = 0
        if self.k < self.steps:
            self.k += 1
            return self.fan
        return 0

    def new_id(self):
        self.ids += 1
        return "call_%d" % self.ids

    def args(self):
        """Those of a long invocation differ: a framework may stop a model that repeats itself."""
        return {"a": 2, "b": self.k if self.steps > 1 else 3}


# ---- the three tools every adapter exposes, of one signature ----
def add(a: int, b: int) -> int:
    """Add two numbers."""
    CALLS[0] += 1
    return a + b


async def nap(a: int, b: int) -> int:
    """Add two numbers after yielding to the event loop once."""
    import asyncio

    CALLS[0] += 1
    await asyncio.sleep(0)
    return a + b


def block(a: int, b: int) -> int:
    """Add two numbers after blocking the thread for 10 ms."""
    CALLS[0] += 1
    time.sleep(0.01)
    return a + b


TOOLS = {"add": add, "nap": nap, "block": block}


class Adapter:
    """An adapter implements these. `open` makes a session, `turn` runs one invocation on it."""

    name = "?"
    persist_kinds = ()  # e.g. ("sqlite",): variants of S8
    layer = "none"  # what is switched on beside the plain agent, for those with layers
    variants = ("",)  # variants of S2 worth showing (flags passed to load)
    wires = ()  # formats in which it speaks to a model server: "chat", "gemini"

    def load(self, variant=""):
        """Import the framework (nothing of it may be imported before)."""

    def version(self):
        return "?"

    def build(self, script, tools=("add",)):
        """Make agent (and runner) once."""

    async def open(self, sid):
        raise NotImplementedError

    async def turn(self, handle):
        """One invocation; returns the final text."""
        raise NotImplementedError

    async def stream(self, handle):
        """One streamed invocation; returns the number of text chunks the caller saw."""
        raise NotImplementedError

    async def persist_start(self, kind, path):
        """Switch to a persistent store at path; later `open` uses it."""
        raise NotImplementedError

    async def load_session(self, kind, path, sid):
        """Open the store anew and read the whole session; returns the number of stored items."""
        raise NotImplementedError

    async def open_stored(self, kind, path, sid):
        """Open the store anew and open the session, without looking at its items."""
        await self.load_session(kind, path, sid)

    async def close(self):
        pass


# ---------------------------------------------------------------- measuring helpers
def rss():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * PAGE / 1e6


def hwm():
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1e3
    return 0.0


def med(xs):
    xs = sorted(xs)
    n = len(xs)
    return xs[n // 2] if n % 2 else (xs[n // 2 - 1] + xs[n // 2]) / 2


def pct(xs, p):
    xs = sorted(xs)
    return xs[min(len(xs) - 1, int(len(xs) * p))]


def at(times, n, w=10):
    """Median of the last w turns up to turn n."""
    return med(times[max(0, n - w) : n])


async def check(ad, handle, calls=None):
    before = CALLS[0]
    text = await ad.turn(handle)
    assert text == FINAL_TEXT, "final text was %r" % (text,)
    if calls is not None:
        assert CALLS[0] - before == calls, "tool calls: %d, wanted %d" % (CALLS[0] - before, calls)


# ---------------------------------------------------------------- scenarios
def s1(ad, o):
    t0 = float(os.environ.get("BENCH_T0", time.monotonic()))
    ad.load(o.get("variant", ""))
    out = {
        "import_s": time.monotonic() - t0,
        "import_cpu_s": time.process_time(),
        "import_rss_mb": rss(),
        "import_modules": len(sys.modules),
    }
    import asyncio

    async def go():
        ad.build(Script())
        h = await ad.open("s0")
        await check(ad, h, 1)
        out.update(
            ready_s=time.monotonic() - t0,
            ready_cpu_s=time.process_time(),
            ready_rss_mb=rss(),
            ready_modules=len(sys.modules),
        )
        await ad.close()

    asyncio.run(go())
    return out


async def s2(ad, o):
    ad.build(Script())
    for i in range(30):
        await check(ad, await ad.open("w%d" % i), 1)
    ts, cs, w0, i = [], [], time.perf_counter(), 0
    while i < 3000 and (time.perf_counter() - w0 < float(o.get("secs", 4)) or i < 100):
        t, c = time.perf_counter(), time.process_time()
        h = await ad.open("s%d" % i)
        await ad.turn(h)
        cs.append(time.process_time() - c)
        ts.append(time.perf_counter() - t)
        i += 1
    return {
        "us": med(ts) * 1e6,
        "p95_us": pct(ts, 0.95) * 1e6,
        "cpu_us": med(cs) * 1e6,
        "cpu_mean_us": sum(cs) / i * 1e6,
        "n": i,
    }


async def s3(ad, o):
    n = int(o.get("turns", 2000))
    ad.build(Script())
    await check(ad, await ad.open("warm"), 1)
    h = await ad.open("long")
    ts, cs, start = [], [], time.perf_counter()
    for i in range(n):
        t, c = time.perf_counter(), time.process_time()
        await ad.turn(h)
        cs.append(time.process_time() - c)
        ts.append(time.perf_counter() - t)
        if time.perf_counter() - start > CAP_S:
            break
    await check(ad, h, 1)
    points = [p for p in (10, 50, 200, 500, 1000, 2000) if p <= len(ts)]
    return {
        "us_at": {str(p): at(ts, p) * 1e6 for p in points},
        "cpu_us_at": {str(p): at(cs, p) * 1e6 for p in points},
        "turns": len(ts),
        "last_us": at(ts, len(ts)) * 1e6,
        "last_cpu_us": at(cs, len(cs)) * 1e6,
        "total_s": sum(ts),
        "total_cpu_s": sum(cs),
        "capped": len(ts) < n,
    }


async def s4(ad, o):
    out = {}
    for steps, reps in ((100, 3), (400, 2)) if o.get("long", "1") == "1" else ((100, 3),):
        ad.build(Script(steps=steps))
        ts, cs = [], []
        try:
            if steps == 100:
                await check(ad, await ad.open("w"), steps)
            for r in range(reps):
                h = await ad.open("l%d_%d" % (steps, r))
                t, c = time.perf_counter(), time.process_time()
                await check(ad, h, steps)
                cs.append(time.process_time() - c)
                ts.append(time.perf_counter() - t)
                if sum(ts) > CAP_S:
                    break
        except Exception as e:  # some frameworks recurse per step
            out["error_%d" % steps] = repr(e)[:200]
            continue
        out["total_%d_s" % steps] = min(ts)
        out["step_%d_us" % steps] = min(ts) / steps * 1e6
        out["step_%d_cpu_us" % steps] = min(cs) / steps * 1e6
    return out


async def s5(ad, o):
    out = {}
    for tool in ("nap", "block"):
        ad.build(Script(fan=32, tool=tool), tools=(tool,))
        ts, cs = [], []
        for r in range(9):
            h = await ad.open("p%s%d" % (tool, r))
            t, c = time.perf_counter(), time.process_time()
            await check(ad, h, 32)
            cs.append(time.process_time() - c)
            ts.append(time.perf_counter() - t)
        out[tool + "_ms"] = med(ts[2:]) * 1e3
        out[tool + "_cpu_ms"] = med(cs[2:]) * 1e3
    return out


async def s6(ad, o):
    n = 2000
    ad.build(Script(chunks=n))
    ts, cs = [], []
    for r in range(5):
        h = await ad.open("st%d" % r)
        t, c = time.perf_counter(), time.process_time()
        seen = await ad.stream(h)
        cs.append(time.process_time() - c)
        ts.append(time.perf_counter() - t)
        assert seen >= n, "caller saw %d chunks of %d" % (seen, n)
    return {"us_per_chunk": med(ts[1:]) / n * 1e6, "cpu_us_per_chunk": med(cs[1:]) / n * 1e6}


async def s7(ad, o):
    import asyncio

    n = int(o.get("n", 1000))
    ad.build(Script(delay=0.05))
    await check(ad, await ad.open("w"), 1)
    r0, c0, before = rss(), time.process_time(), CALLS[0]
    t = time.perf_counter()

    async def one(i):
        h = await ad.open("c%d" % i)
        text = await ad.turn(h)
        assert text == FINAL_TEXT
        return h

    keep = await asyncio.gather(*[one(i) for i in range(n)])
    wall = time.perf_counter() - t
    assert CALLS[0] - before == n and len(keep) == n
    return {
        "wall_s": wall,
        "over_ideal_s": wall - 0.1,
        "cpu_s": time.process_time() - c0,
        "us_per_session": (wall - 0.1) / n * 1e6,
        "rss_mb": rss(),
        "rss_growth_mb": rss() - r0,
        "peak_mb": hwm(),
    }


def size_of(path):
    import glob

    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(path) for f in fs)
    return sum(os.path.getsize(p) for p in glob.glob(path + "*"))


async def loaded(ad, kind, path, times):
    """Items of the long session, and what it costs to read them through a new store."""
    start, start_cpu, items = time.perf_counter(), time.process_time(), 0
    lt, lc, oc = [], [], []
    for i in range(times):
        c = time.process_time()
        await ad.open_stored(kind, path, "long")
        oc.append(time.process_time() - c)
        t, c = time.perf_counter(), time.process_time()
        items = await ad.load_session(kind, path, "long")
        lc.append(time.process_time() - c)
        lt.append(time.perf_counter() - t)
    return items, {
        "open_cpu_ms": med(oc) * 1e3,
        "load_ms": med(lt) * 1e3,
        "load_cpu_ms": med(lc) * 1e3,
        "took_s": time.perf_counter() - start,
        "took_cpu_s": time.process_time() - start_cpu,
    }


async def s8(ad, o):
    import shutil
    import tempfile

    kind = o["kind"]
    turns = int(o.get("turns", 500))
    tmp = tempfile.mkdtemp(prefix="bench_s8_", dir=os.environ.get("BENCH_TMP"))
    path = os.path.join(tmp, "db")
    try:
        await ad.persist_start(kind, path)
        ad.build(Script())
        await check(ad, await ad.open("warm"), 1)
        first = []
        for i in range(7):
            h = await ad.open("f%d" % i)
            t = time.perf_counter()
            await ad.turn(h)
            first.append(time.perf_counter() - t)
        t = time.perf_counter()
        h = await ad.open("long")
        open_s = time.perf_counter() - t
        ts, cs, start, cpu, loads = [], [], time.perf_counter(), time.process_time(), {}
        for i in range(turns):
            if i in (10, 50, 200):
                items, load = await loaded(ad, kind, path, 3)
                loads[items] = load["load_cpu_ms"]
                start += load["took_s"]
                cpu += load["took_cpu_s"]
            t, c = time.perf_counter(), time.process_time()
            await ad.turn(h)
            cs.append(time.process_time() - c)
            ts.append(time.perf_counter() - t)
            if time.perf_counter() - start > CAP_S:
                break
        cpu = time.process_time() - cpu
        await check(ad, h, 1)
        await ad.close()
        if os.path.isfile(path):
            import sqlite3

            db = sqlite3.connect(path)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()
        size = size_of(path)
        items, load = await loaded(ad, kind, path, 5)
        loads[items] = load["load_cpu_ms"]
        pts = {"1": med(first) * 1e3}
        pts.update({str(p): at(ts, p) * 1e3 for p in (50, 200, 500) if p <= len(ts)})
        cpts = {str(p): at(cs, p) * 1e3 for p in (10, 50, 200, 500) if p <= len(cs)}
        return {
            "ms_at": pts,
            "cpu_ms_at": cpts,
            "open_ms": open_s * 1e3,
            "turns": len(ts),
            "total_s": sum(ts),
            "cpu_s": cpu,
            "size_mb": size / 1e6,
            "bytes_per_item": size / (4 * (len(ts) + 9)),
            "open_stored_cpu_ms": load["open_cpu_ms"],
            "load_ms": load["load_ms"],
            "load_cpu_ms": load["load_cpu_ms"],
            "load_items": items,
            "load_cpu_ms_at": loads,
        }
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


async def s9(ad, o):
    import gc

    out = {}
    ad.build(Script())
    keep = []
    for i in range(200):
        h = await ad.open("w%d" % i)
        await ad.turn(h)
        keep.append(h)
    gc.collect()
    r0, n, curve = rss(), int(o.get("n", 1500)), {}
    for i in range(n):
        h = await ad.open("m%d" % i)
        await ad.turn(h)
        keep.append(h)
        if (i + 1) % max(1, n // 5) == 0:
            gc.collect()
            curve[str(4 * (i + 1))] = rss() - r0
    gc.collect()
    out["many_sessions_mb_at"] = curve
    out["many_sessions_mb_per_1000"] = (rss() - r0) / (4 * n) * 1000
    r0, start, done = rss(), time.perf_counter(), 0
    h = await ad.open("long")
    for i in range(n // 3):
        await ad.turn(h)
        done += 1
        if time.perf_counter() - start > CAP_S:
            break
    gc.collect()
    out["one_session_mb_per_1000"] = (rss() - r0) / (4 * done) * 1000
    out["one_session_turns"] = done
    return out


async def wire(ad, o):
    """The framework with its real model client, against a server that answers at once."""
    import subprocess

    chunks, turns = 500, int(o.get("turns", 200))
    here = os.path.dirname(os.path.abspath(__file__))
    server = subprocess.Popen(
        [sys.executable, os.path.join(here, "wire_server.py"), "chunks=%d" % chunks],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = server.stdout.readline().strip()
        ad.build(Script(wire=o["wire"], url=url))
        await check(ad, await ad.open("warm"), 1)
        h, cs = await ad.open("long"), []
        for i in range(turns):
            c = time.process_time()
            await ad.turn(h)
            cs.append(time.process_time() - c)
        await check(ad, h, 1)
        ts = []
        for r in range(5):
            h = await ad.open("st%d" % r)
            c = time.process_time()
            seen = await ad.stream(h)
            ts.append(time.process_time() - c)
            assert seen >= chunks, "caller saw %d chunks of %d" % (seen, chunks)
        return {
            "cpu_us_at": {str(p): at(cs, p) * 1e6 for p in (10, 50, 200) if p <= len(cs)},
            "cpu_us_per_chunk": med(ts[1:]) / chunks * 1e6,
        }
    finally:
        server.stdin.close()
        server.wait()


async def layers(ad, o):
    """Turns and chunks with something switched on beside the plain agent."""
    done = await s2(ad, o)
    streamed = await s6(ad, o)
    return {**done, "cpu_us_per_chunk": streamed["cpu_us_per_chunk"]}


SCENARIOS = {
    "layers": layers,
    "wire": wire,
    "s2": s2,
    "s3": s3,
    "s4": s4,
    "s5": s5,
    "s6": s6,
    "s7": s7,
    "s8": s8,
    "s9": s9,
}


def main(ad):
    name = sys.argv[1]
    o = dict(a.split("=", 1) for a in sys.argv[2:])
    if name == "info":
        ad.load()
        print(
            json.dumps(
                {
                    "version": ad.version(),
                    "persist_kinds": list(ad.persist_kinds),
                    "variants": list(ad.variants),
                    "wires": list(ad.wires),
                }
            )
        )
        return
    if name == "s1":
        print("\n" + json.dumps(s1(ad, o)))
        return
    import asyncio
    import logging

    logging.disable(logging.WARNING)
    ad.layer = o.get("layer", "none")
    ad.load(o.get("variant", ""))

    async def go():
        try:
            return await SCENARIOS[name](ad, o)
        finally:
            await ad.close()

    r = asyncio.run(go())
    print("\n" + json.dumps(r))
    sys.stdout.flush()
    os._exit(0)  # no framework gets to spend time in exit hooks

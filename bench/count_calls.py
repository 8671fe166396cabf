"""Counts what a scenario costs in things that no machine's noise touches, for one adapter:

  count_calls.py adapter_X.py [scenario=turn] [turns=200] [history=0] [kind=] [variant=]
                 [layer=] [top=30] [only=path]

`scenario` is turn (S2, and S3 with a history; S8 with a kind of store), step (S4), tool (S5),
chunk (S6) or sessions (S7). It warms up first, so imports are not in it. The first line is JSON:
Python and C function calls, pydantic validations, tasks async generators and
wakings of the event loop by threads, all per unit; then
memory blocks and objects of the collector left per stored item (S9), from a run without the
profiler. The rest is the cost by function, file and folder, per unit."""

import asyncio
import cProfile
import gc
import json
import logging
import os
import pstats
import shutil
import sys
import tempfile
import time

import scenarios

STEPS, FAN, CHUNKS, SESSIONS = 100, 32, 500, 100
SHAPES = {  # scenario: the fake model's script, the tool, units in one turn
    "turn": ({}, "add", 1),
    "step": ({"steps": STEPS}, "add", STEPS),
    "tool": ({"fan": FAN, "tool": "nap"}, "nap", FAN),
    "chunk": ({"chunks": CHUNKS}, "add", CHUNKS),
    "sessions": ({"delay": 0.001}, "add", SESSIONS),
}
ITEMS = {"turn": 4, "step": 2 * STEPS + 2, "tool": 4, "chunk": 2, "sessions": 4 * SESSIONS}
COUNTED = {  # what: the ends of the names of the functions that stand for it
    "validations": ("validate_python", "validate_json"),
    "dumps": ("to_json", "to_python"),
    "tasks": ("base_events.py create_task",),
    "async_generators": ("_asyncgen_firstiter_hook",),
    "wakeups": ("_read_from_self",),
}


def caught_adapter(path):
    """The adapter that a script hands to scenarios.main."""
    caught = []
    scenarios.main = caught.append
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), {"__name__": "__main__", "__file__": path})
    return caught[0]


class Unit:
    """One scenario of one adapter: makes sessions and runs turns on them."""

    def __init__(self, ad, o):
        self.ad, self.o = ad, o
        self.scenario = o.get("scenario", "turn")
        self.number = 0

    async def fresh(self):
        self.number += 1
        return await self.ad.open("s%d" % self.number)

    async def go(self, handle=None):
        """One turn of the scenario, on the session or a fresh one."""
        if self.scenario == "sessions":
            handles = [await self.fresh() for _ in range(SESSIONS)]
            await asyncio.gather(*[self.ad.turn(each) for each in handles])
            return handles
        if handle is None:
            handle = await self.fresh()
        if self.scenario == "chunk":
            assert await self.ad.stream(handle) >= CHUNKS
        else:
            assert await self.ad.turn(handle) == scenarios.FINAL_TEXT
        return handle

    async def profiled(self, profile, turns, history):
        script, tool, _ = SHAPES[self.scenario]
        self.ad.build(scenarios.Script(**script), tools=(tool,))
        for _ in range(20 if self.scenario == "turn" else 3):
            await self.go()
        handle = await self.fresh() if history else None
        for _ in range(history):
            await self.go(handle)
        profile.enable()
        for _ in range(turns):
            await self.go(handle)
        profile.disable()

    async def left(self, turns):
        """Memory blocks and collected objects that stay for each stored item."""
        await self.go()
        kept = [await self.fresh() for _ in range(5)]
        gc.collect()
        blocks, objects = sys.getallocatedblocks(), len(gc.get_objects())
        kept += [await self.go() for _ in range(turns)]
        gc.collect()
        items = turns * ITEMS[self.scenario]
        return {
            "blocks_per_item": (sys.getallocatedblocks() - blocks) / items,
            "objects_per_item": (len(gc.get_objects()) - objects) / items,
        }


async def measure(unit, profile, turns, history):
    o, tmp = unit.o, tempfile.mkdtemp()
    try:
        if o.get("kind"):
            await unit.ad.persist_start(o["kind"], os.path.join(tmp, "db"))
        await unit.profiled(profile, turns, history)
        left = {} if history else await unit.left(turns)
        await unit.ad.close()
        return left
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def place(key):
    """The file of a function, without what comes before its package; builtins have none."""
    if key[0] == "~":
        return ""
    file = key[0].replace(os.sep, "/")
    for root in ("/site-packages/", "/src/"):
        if root in file:
            return file.split(root)[-1]
    library = os.path.dirname(os.__file__).replace(os.sep, "/") + "/"
    return "stdlib/" + file[len(library) :] if file.startswith(library) else os.path.basename(file)


def called(key):
    """A function's file and name; a builtin method is written `<method 'to_json' of ...>`."""
    return "%s %s" % (os.path.basename(key[0]), key[2].split(" of ")[0])


def show(title, rows, total, units, top):
    print("-- " + title)
    for name, took, calls in sorted(rows, key=lambda row: -row[1])[:top]:
        print("%5.1f%% %9.2f  %s" % (100 * took / total, calls / units, name))


def named(key):
    """A function with its place."""
    return ("%s %s" % (place(key), key[2])).strip()


def summed(rows, name_of):
    """Own time and calls, added up under a name."""
    table = {}
    for key, calls, own, _ in rows:
        row = table.setdefault(name_of(key), [0.0, 0])
        row[0] += own
        row[1] += calls
    return [(name, took, calls) for name, (took, calls) in table.items()]


def folder(key):
    file = place(key)
    parts = file.split("/")
    if not file:
        return "builtins"
    if file.startswith(("ostinato/", "google/adk/")):
        return "/".join(parts[: 3 if parts[0] == "ostinato" else 4][:-1] or parts)
    return parts[0]


def main():
    path, o = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:])
    ad = caught_adapter(path)
    turns, history = int(o.get("turns", 200)), int(o.get("history", 0))
    logging.disable(logging.WARNING)
    ad.layer = o.get("layer", "none")
    ad.load(o.get("variant", ""))
    # CPU of this thread alone: waiting for a thread or a disk is no function's time.
    profile, unit = cProfile.Profile(time.thread_time), Unit(ad, o)
    left = asyncio.run(measure(unit, profile, turns, history))
    stats = pstats.Stats(profile)
    rows = [(key, nc, tt, ct) for key, (_, nc, tt, ct, _) in stats.stats.items()]
    units = turns * SHAPES[unit.scenario][2]
    total = sum(own for _, _, own, _ in rows)
    result = {"adapter": os.path.basename(path), **o, "calls": stats.total_calls / units}
    result["calls_per_turn"] = result["calls"]
    for what, names in COUNTED.items():
        result[what] = (
            sum(nc for key, nc, _, _ in rows if any(n in called(key) for n in names)) / units
        )
    where = [
        *sorted(summed(rows, folder), key=lambda row: -row[1])[:8],
        *sorted(((named(k), own, n) for k, n, own, _ in rows), key=lambda row: -row[1])[:12],
    ]
    result["profile"] = [(name, took / total, calls / units) for name, took, calls in where]
    print(json.dumps({**result, **left}))
    top, only = int(o.get("top", 30)), o.get("only", "")
    if top:
        chosen = [row for row in rows if only in row[0][0]]
        lines = [(named(key), own, cum, n) for key, n, own, cum in chosen]
        show("own time", [(name, own, n) for name, own, _, n in lines], total, units, top)
        show("with what it calls", [(name, cum, n) for name, _, cum, n in lines], total, units, top)
        show("own time by file", summed(chosen, place), total, units, top)
        show("own time by folder", summed(chosen, folder), total, units, top)
        calls = [(name, n, n) for name, _, n in summed(chosen, folder)]
        show("calls by folder", calls, stats.total_calls, units, top)
    sys.stdout.flush()
    os._exit(0)  # no framework gets to spend time in exit hooks


if __name__ == "__main__":
    main()

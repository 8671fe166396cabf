"""Counts or profiles one adapter:
  count_calls.py adapter_X.py [turns=200] [history=0] [kind=] [variant=] [top=30] [only=path]
Warms up first, so imports are not in it. Prints Python and C function calls per invocation (no
machine's noise touches), then the cost by function (own and cumulative time), per invocation."""

import asyncio
import cProfile
import importlib.util
import json
import logging
import os
import pstats
import shutil
import sys
import tempfile

import scenarios

path, o = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:])
caught = []
scenarios.main = caught.append
spec = importlib.util.spec_from_file_location("__main__", path)
src = compile(open(path).read(), path, "exec")
exec(src, {"__name__": "__main__", "__file__": path})
ad = caught[0]
turns, history = int(o.get("turns", 200)), int(o.get("history", 0))
logging.disable(logging.WARNING)
ad.load(o.get("variant", ""))
prof = cProfile.Profile()


async def go():
    tmp = tempfile.mkdtemp()
    try:
        if o.get("kind"):
            await ad.persist_start(o["kind"], os.path.join(tmp, "db"))
        ad.build(scenarios.Script())
        for i in range(20):
            await scenarios.check(ad, await ad.open("w%d" % i), 1)
        h = None
        if history:
            h = await ad.open("long")
            for _ in range(history):
                await ad.turn(h)
        prof.enable()
        for i in range(turns):
            await ad.turn(h if history else await ad.open("s%d" % i))
        prof.disable()
        await ad.close()
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


asyncio.run(go())
st = pstats.Stats(prof)
rows = [(k, cc, nc, tt, ct) for k, (cc, nc, tt, ct, _) in st.stats.items()]
total = sum(r[3] for r in rows)
res = {
    "adapter": os.path.basename(path),
    "turns": turns,
    "history": history,
    "kind": o.get("kind"),
    "variant": o.get("variant"),
    "calls_per_turn": st.total_calls / turns,
    "profiled_ms_per_turn": total / turns * 1e3,
}
print(json.dumps(res))


def name(k):
    f = k[0].split("site-packages/")[-1]
    return "%s:%s" % (f if f != "~" else "", k[2])


for title, idx in (("own", 3), ("cumulative", 4)):
    print("-- by %s time (share of total, calls per turn)" % title)
    for r in sorted((r for r in rows if o.get("only", "") in r[0][0]), key=lambda r: -r[idx])[
        : int(o.get("top", 30))
    ]:
        print("%5.1f%% %9.1f  %s" % (100 * r[idx] / total, r[2] / turns, name(r[0])))
pk = {}
for r in rows:
    f = r[0][0].split("site-packages/")[-1]
    p = (
        "/".join(f.split("/")[:4])
        if f.startswith("google/adk")
        else (
            f.split("/")[0]
            if "/" in f and not f.startswith("/")
            else ("builtins" if f == "~" else "stdlib")
        )
    )
    a = pk.setdefault(p, [0.0, 0])
    a[0] += r[3]
    a[1] += r[2]
print("-- own time by package")
for p, (t, n) in sorted(pk.items(), key=lambda x: -x[1][0])[:18]:
    print("%5.1f%% %9.1f  %s" % (100 * t / total, n / turns, p))
os._exit(0) if sys.stdout.flush() is None else None

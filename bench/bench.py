"""Runs each peer's adapter in that peer's own interpreter, one process per (peer, scenario), and
prints one table. `make bench QUICK=1` is `bench.py run --quick`; the README says what each is.

  bench.py run  [--quick] [--peers adk,ours] [--scenarios s1,s2] [--reps 3] [--out results/x.json]
  bench.py show [--out results/x.json] [--base adk]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from cold import environment, show_cold
from setup_peers import interpreter
from table import failures, show

HERE = Path(__file__).resolve().parent
PEERS = {  # name: (adapter, folder of its environment; None is the interpreter that runs this)
    "adk": ("adapter_adk.py", "adk"),
    "ours": ("adapter_ours.py", None),
    "openai-agents": ("adapter_openai_agents.py", "openai-agents"),
    "pydantic-ai": ("adapter_pydantic_ai.py", "pydantic-ai"),
    "langgraph": ("adapter_langgraph.py", "langgraph"),
    "strands": ("adapter_strands.py", "strands"),
    "floor": ("adapter_floor.py", None),
    "floor+types": ("adapter_floor_types.py", "adk"),
}
# scenario: the figure by which the best of several process runs is chosen
RANK = {
    "s1": "ready_cpu_s",
    "s2": "cpu_us",
    "s3": "total_cpu_s",
    "s4": "step_100_cpu_us",
    "s5": "nap_cpu_ms",
    "s6": "cpu_us_per_chunk",
    "s7": "cpu_s",
    "s8": "cpu_s",
    "s9": "many_sessions_mb_per_1000",
    "wire": "cpu_us_per_chunk",
}
ONCE = {"s3", "s8", "s9"}
QUICK_PEERS = "adk,ours"
QUICK_SCENARIOS = "calls,s1,s2,s3,s6,s8,wire"
QUICK_ARGUMENTS = {"s2": ["secs=2"], "s3": ["turns=200"], "s8": ["turns=200"], "wire": ["turns=50"]}


def python(peer):
    """The interpreter of a peer."""
    folder = PEERS[peer][1]
    return interpreter(folder) if folder else os.environ.get("BENCH_PY_OURS", sys.executable)


def start(peer, script, *arguments, timeout=900):
    """Run a script in the peer's interpreter; the last line that is a JSON object is its result."""
    env = {
        **environment(),
        "BENCH_T0": repr(time.monotonic()),
        "PYTHONHASHSEED": "0",
        "OTEL_SDK_DISABLED": "false",
        "LANGSMITH_TRACING": "false",
    }
    command = [python(peer), str(HERE / script), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)[:300]}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        last = (done.stderr.strip().splitlines() or ["exit code %d" % done.returncode])[-1]
        return {"error": last[:300]}
    return json.loads(lines[-1])


def call(peer, *arguments):
    """One scenario of one peer."""
    return start(peer, PEERS[peer][0], *arguments)


def count_calls(peer, quick):
    """Python and C function calls per turn after 0, 50 and 200 turns, which no noise touches."""
    row = {}
    for history, turns in ((0, 20), (50, 5), (200, 3)) if quick else ((0, 40), (50, 10), (200, 5)):
        done = start(
            peer,
            "count_calls.py",
            str(HERE / PEERS[peer][0]),
            "turns=%d" % turns,
            "history=%d" % history,
            "top=0",
        )
        if "error" in done:
            return done
        row[str(history)] = done["calls_per_turn"]
    return {"calls": row}


def best(rows, key):
    """The run with the lowest figure."""
    good = [row for row in rows if "error" not in row]
    if not good:
        return rows[-1]
    row = dict(min(good, key=lambda row: row.get(key, 0)))
    row.update(reps=len(good), rank_values=[r.get(key) for r in good])
    return row


def jobs(scenario, info, quick):
    """The (key, arguments) of a scenario for one peer."""
    more = QUICK_ARGUMENTS.get(scenario, []) if quick else []
    if scenario == "s8":
        kinds = info["persist_kinds"][:1] if quick else info["persist_kinds"]
        return [("s8:" + kind, ["s8", "kind=" + kind, *more]) for kind in kinds]
    if scenario == "wire":
        return [("wire:" + w, ["wire", "wire=" + w, *more]) for w in info["wires"]]
    if scenario == "s2":
        variants = [""] if quick else info["variants"]
        return [("s2" + (":" + v if v else ""), ["s2", "variant=" + v, *more]) for v in variants]
    return [(scenario, [scenario, *more])]


def measure(data, peer, scenario, options):
    """Run one scenario of one peer and keep its figures in `data`."""
    rows = data[peer]
    if scenario == "calls":
        rows["calls"] = count_calls(peer, options.quick)
        report(peer, "calls", rows["calls"])
        return
    for key, arguments in jobs(scenario, rows["info"], options.quick):
        reps = 1 if scenario in ONCE else options.reps
        if scenario == "s1":
            call(peer, *arguments)  # fill the bytecode and page caches
            reps = options.reps + 2
        rows[key] = best([call(peer, *arguments) for _ in range(reps)], RANK[scenario])
        rows[key]["load1"] = os.getloadavg()[0]
        report(peer, key, rows[key])


def report(peer, key, row):
    print(time.strftime("%H:%M:%S"), peer, key, json.dumps(row)[:160], file=sys.stderr, flush=True)


def run(options):
    """Measure, store and print; the exit code is 1 if a peer failed."""
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    data = json.loads(out.read_text()) if out.exists() and not options.quick else {}
    peers = options.peers.split(",")
    for peer in peers:
        data.setdefault(peer, {})["info"] = call(peer, "info")
        report(peer, "info", data[peer]["info"])
    for scenario in options.scenarios.split(","):
        for peer in peers:
            if "error" not in data[peer]["info"]:
                measure(data, peer, scenario, options)
                out.write_text(json.dumps(data, indent=1))
    show(data, options.base)
    if "ours" in peers:
        show_cold(python("ours"), os.environ.get("OURS_PKG", "ostinato"))
    return 1 if any(failures({peer: data[peer] for peer in peers})) else 0


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--quick", action="store_true", help="google-adk and ours, two minutes")
    parser.add_argument("--peers")
    parser.add_argument("--scenarios")
    parser.add_argument("--reps", type=int)
    parser.add_argument("--out")
    parser.add_argument("--base", default="adk")
    options = parser.parse_args()
    quick = options.quick
    options.peers = options.peers or (QUICK_PEERS if quick else ",".join(PEERS))
    options.scenarios = options.scenarios or (
        QUICK_SCENARIOS if quick else "calls,s1,s2,s4,s5,s6,s7,s8,wire,s3,s9"
    )
    options.reps = options.reps or (1 if quick else 3)
    options.out = options.out or str(HERE / "results" / ("quick.json" if quick else "latest.json"))
    if options.command == "run":
        return run(options)
    show(json.loads(Path(options.out).read_text()), options.base)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs each peer's adapter in that peer's own interpreter, one process per (peer, scenario), and
prints one table. `make bench QUICK=1` is `bench.py run --quick`; the README says what each is.

  bench.py run  [--quick | --smoke] [--peers adk,ours] [--scenarios s1,s2] [--reps 2] [--out x.json]
  bench.py show [--out results/x.json]

Results are kept after every scenario, and a run of some scenarios replaces those alone."""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from cold import cold_start, environment
from setup_peers import interpreter
from table import failures, show

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Peer:
    """One column of the table.

    `folder` is that of its environment; None is the interpreter that runs this. `leaves` are the
    scenarios that it has no part in.
    """

    adapter: str
    folder: str | None = None
    variant: str = ""
    leaves: frozenset[str] = frozenset()


PEERS = {
    "adk": Peer("adapter_adk.py", "adk"),
    "adk-stub": Peer(
        "adapter_adk.py", "adk", "a2a_stub", frozenset({"s1", "s8", "s9", "wire", "layers"})
    ),
    "ours": Peer("adapter_ours.py"),
    "ours-inline": Peer(
        "adapter_ours.py", None, "inline", frozenset({"s1", "s5", "s6", "s9", "wire", "layers"})
    ),
    "openai-agents": Peer("adapter_openai_agents.py", "openai-agents"),
    "pydantic-ai": Peer("adapter_pydantic_ai.py", "pydantic-ai"),
    "langgraph": Peer("adapter_langgraph.py", "langgraph"),
    "strands": Peer("adapter_strands.py", "strands"),
    "floor": Peer("adapter_floor.py"),
    "floor+types": Peer("adapter_floor_types.py", "adk"),
}
LAYERS = ("none", "otel", "plugins", "callbacks", "schema", "planner", "everything")
WITH_LAYERS = ("adk", "ours")
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
    "layers": "cpu_us",
}
ONCE = {"s3", "s8", "s9", "s7"}


@dataclass(frozen=True)
class Mode:
    """How much is measured. A growing session of a peer is stopped after `cap_s` seconds, that of
    the base peer after `base_cap_s`: it is to reach the 500th turn."""

    peers: tuple[str, ...]
    scenarios: str
    reps: int
    cap_s: int
    base_cap_s: int
    arguments: dict[str, list[str]] = field(default_factory=dict)
    of_variants: frozenset[str] | None = None  # scenarios of peers' variants; None is all


MODES = {
    "full": Mode(
        tuple(PEERS),
        "calls,s1,s2,layers,s4,s5,s6,s7,s8,wire,s3,s9",
        2,
        12,
        120,
        {"s2": ["secs=2"], "layers": ["secs=2"]},
    ),
    "quick": Mode(
        ("adk", "adk-stub", "ours", "ours-inline", "floor"),
        "calls,s1,s2,s4,s5,s6,s7,s8,s3,s9",
        1,
        5,
        6,
        {
            "s2": ["secs=1"],
            "s3": ["turns=200"],
            "s4": ["long=0"],
            "s8": ["turns=200"],
            "s9": ["n=300"],
        },
        frozenset({"calls", "s2", "s3"}),
    ),
    "smoke": Mode(
        tuple(PEERS),
        "calls,s1,s2,layers,s4,s5,s6,s7,s8,wire,s3,s9",
        1,
        1,
        1,
        {
            "s2": ["secs=0.1"],
            "s3": ["turns=50"],
            "s4": ["long=0"],
            "s7": ["n=50"],
            "s8": ["turns=50"],
            "s9": ["n=50"],
            "wire": ["turns=10"],
            "layers": ["secs=0.1"],
        },
    ),
}


def python(peer, scenario=""):
    """The interpreter of a peer: with layers, the one that has an exporter of traces."""
    if scenario == "layers":
        return interpreter("everything-" + peer)
    folder = PEERS[peer].folder
    return interpreter(folder) if folder else os.environ.get("BENCH_PY_OURS", sys.executable)


def start(peer, script, *arguments, cap_s=120, timeout=900):
    """Run a script in the peer's interpreter; the last line that is a JSON object is its result."""
    env = {
        **environment(),
        "BENCH_CAP_S": str(cap_s),
        "BENCH_T0": repr(time.monotonic()),
        "PYTHONHASHSEED": "0",
        "OTEL_SDK_DISABLED": "false",
        "LANGSMITH_TRACING": "false",
    }
    scenario = "layers" if any(a.startswith("layer=") for a in arguments) else arguments[0]
    command = [python(peer, scenario), str(HERE / script), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)[:300]}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        last = (done.stderr.strip().splitlines() or ["exit code %d" % done.returncode])[-1]
        return {"error": last[:300]}
    return json.loads(lines[-1])


def call(peer, *arguments, cap_s=120):
    """One scenario of one peer."""
    variant = PEERS[peer].variant
    more = ["variant=" + variant] if variant else []
    return start(peer, PEERS[peer].adapter, *arguments, *more, cap_s=cap_s)


def count(peer, *arguments):
    """Counts of one shape of work, which no noise touches."""
    variant = "variant=" + PEERS[peer].variant
    adapter = str(HERE / PEERS[peer].adapter)
    return start(peer, "count_calls.py", adapter, variant, "top=0", *arguments)


def count_calls(peer, mode):
    """Python and C function calls per turn after 0, 50 and 200 turns, per step, tool and chunk."""
    short = mode != "full"
    row = {"calls": {}}
    for history, turns in ((0, 20), (50, 5), (200, 3)):
        if history > 50 and (mode == "smoke" or (short and peer == "adk-stub")):
            continue
        done = count(peer, "turns=%d" % turns, "history=%d" % history)
        if "error" in done:
            return done
        row["calls"][str(history)] = done["calls"]
        if not history:
            row.update(blocks_per_item=done.get("blocks_per_item"), tasks=done["tasks"])
            row.update({k: done[k] for k in ("validations", "async_generators")})
    for scenario in ("step", "tool", "chunk"):
        if not short or peer in ("adk", "ours"):
            done = count(peer, "scenario=" + scenario, "turns=2")
            row[scenario] = done.get("calls")
    if peer == "ours":
        row["profiles"] = profiles(peer)
    return row


def profiles(peer):
    """Where the calls and the time go, by the shape of the work."""
    shapes = {
        "S2, a turn": ("turns=200",),
        "S4, a step of 100": ("scenario=step", "turns=5"),
        "S5, a tool call of 32": ("scenario=tool", "turns=10"),
        "S6, a chunk": ("scenario=chunk", "turns=5"),
        "S7, one of 100 sessions at once": ("scenario=sessions", "turns=5"),
        "S8, a turn stored": ("turns=100", "history=50", "kind=SqliteSessionService NORMAL"),
    }
    return {name: count(peer, *args).get("profile", []) for name, args in shapes.items()}


def best(rows, key):
    """The run with the lowest figure."""
    good = [row for row in rows if "error" not in row]
    if not good:
        return rows[-1]
    row = dict(min(good, key=lambda row: row.get(key, 0)))
    row.update(reps=len(good), rank_values=[r.get(key) for r in good])
    return row


def jobs(peer, scenario, info, mode):
    """The (key, arguments) of a scenario for one peer."""
    more = MODES[mode].arguments.get(scenario, [])
    if scenario == "s8":
        kinds = info["persist_kinds"]
        if mode != "full":
            kinds = kinds[: 2 if peer == "ours" else 1]
        return [("s8:" + kind, ["s8", "kind=" + kind, *more]) for kind in kinds]
    if scenario == "wire":
        return [("wire:" + w, ["wire", "wire=" + w, *more]) for w in info["wires"]]
    if scenario == "layers":
        layers = LAYERS if peer in WITH_LAYERS else ()
        return [("layers:" + x, ["layers", "layer=" + x, *more]) for x in layers]
    if scenario == "s2":
        variant = PEERS[peer].variant
        variants = info["variants"] if mode == "full" and not variant else [""]
        return [
            ("s2" + (":" + v if v else ""), ["s2", *(["variant=" + v] if v else []), *more])
            for v in variants
        ]
    return [(scenario, [scenario, *more])]


def cap_of(peer, scenario, key, mode):
    """Seconds after which a growing session of this peer is stopped."""
    first = scenario == "s3" or key.endswith(":SqliteSessionService")
    long = peer.startswith("ours") or (peer == "adk" and first and scenario != "s9")
    return MODES[mode].base_cap_s if long else MODES[mode].cap_s


def measure(rows, peer, scenario, options):
    """Run one scenario of one peer and keep its figures in `rows`."""
    wanted = MODES[options.mode].of_variants
    stays = PEERS[peer].variant and wanted is not None and scenario not in wanted
    if stays or scenario in PEERS[peer].leaves:
        return
    if scenario == "calls":
        rows["calls"] = count_calls(peer, options.mode)
        tell(peer, "calls", rows["calls"])
        return
    for key, arguments in jobs(peer, scenario, rows["info"], options.mode):
        reps = 1 if scenario in ONCE else options.reps
        if scenario == "s1":
            call(peer, *arguments)  # fill the bytecode and page caches
            reps = options.reps + 2
        cap = cap_of(peer, scenario, key, options.mode)
        done = [call(peer, *arguments, cap_s=cap) for _ in range(reps)]
        rows[key] = best(done, RANK[scenario])
        rows[key]["load1"] = os.getloadavg()[0]
        if scenario == "layers":
            counted = count(peer, arguments[1], "turns=20")
            rows[key]["calls"] = counted.get("calls")
        tell(peer, key, rows[key])


def tell(peer, key, row):
    print(time.strftime("%H:%M:%S"), peer, key, json.dumps(row)[:160], file=sys.stderr, flush=True)


def machine():
    """What the figures were measured on."""
    cpu = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    commit = subprocess.run(
        ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": "%s %s" % (platform.system(), platform.release()),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "load1_at_start": round(os.getloadavg()[0], 2),
        "commit": commit.stdout.strip(),
    }


def raw_appends(rounds):
    """A stored turn of ours beside four raw appends, in ms; None if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "sessions.db")
        done = start("ours", "appends.py", file, "--json", "--rounds", str(rounds))
    return None if "error" in done else done


def run(options):
    """Measure, store and print; the exit code is 1 if a peer failed."""
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    data = json.loads(out.read_text()) if out.exists() and options.mode == "full" else {}
    data["machine"] = {**machine(), "mode": options.mode}
    table = data.setdefault("peers", {})
    peers, began = options.peers.split(","), time.monotonic()
    for peer in peers:
        table.setdefault(peer, {})["info"] = call(peer, "info")
        tell(peer, "info", table[peer]["info"])
    for scenario in options.scenarios.split(","):
        since = time.monotonic()
        for peer in peers:
            if "error" not in table[peer]["info"]:
                measure(table[peer], peer, scenario, options)
                out.write_text(json.dumps(data, indent=1))
        tell("all", scenario, {"seconds": round(time.monotonic() - since)})
    if "ours" in peers:
        data["cold"] = cold_start(python("ours"), os.environ.get("OURS_PKG", "ostinato"))
        data["appends"] = raw_appends(200 if options.mode == "full" else 30)
    data["machine"]["seconds"] = round(time.monotonic() - began)
    out.write_text(json.dumps(data, indent=1))
    show(data)
    return 1 if any(failures({peer: table[peer] for peer in peers})) else 0


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run", "show"])
    for mode in ("quick", "smoke"):
        parser.add_argument("--" + mode, dest="mode", action="store_const", const=mode)
    parser.add_argument("--peers")
    parser.add_argument("--scenarios")
    parser.add_argument("--reps", type=int)
    parser.add_argument("--out")
    parser.set_defaults(mode="full")
    options = parser.parse_args()
    mode = MODES[options.mode]
    options.peers = options.peers or ",".join(mode.peers)
    options.scenarios = options.scenarios or mode.scenarios
    options.reps = options.reps or mode.reps
    name = "latest" if options.mode == "full" else options.mode
    options.out = options.out or str(HERE / "results" / (name + ".json"))
    if options.command == "run":
        return run(options)
    show(json.loads(Path(options.out).read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

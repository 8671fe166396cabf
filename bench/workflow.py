"""What a node of a workflow costs, beside google-adk's Workflow and langgraph, in one run.

    python bench/workflow.py                all peers, up to 10,000 nodes in a row, 1,000 at once
    python bench/workflow.py --only ours --quick

Each (peer, shape, size) is a process of its own in the peer's environment (`setup_peers.py adk23
adk langgraph`); what is measured is one run, in memory, of functions that return a number: CPU
seconds, divided by the nodes, after a run of two nodes. One that does not end in time is told so.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import logging
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS = {"ours": "ostinato", "adk23": "google.adk", "adk": "google.adk", "langgraph": ""}
SIZES = {"row": (100, 1_000, 10_000), "fan": (100, 1_000)}
QUICK = {"row": (100, 1_000), "fan": (100, 300)}
LIMIT = 600.0


def build_adk(package: str, shape: str, size: int) -> Callable[[], Coroutine[Any, Any, int]]:
    """A run of a graph of Ostinato or google-adk; it gives the number of events."""
    flow = importlib.import_module(f"{package}.workflow")
    runners = importlib.import_module(f"{package}.runners")
    sessions = importlib.import_module(f"{package}.sessions")
    types: Any = importlib.import_module(
        "google.genai.types" if package == "google.adk" else f"{package}.types"
    )

    def made(number: int) -> Any:
        def count(node_input: Any) -> int:
            return number

        return flow.FunctionNode(func=count, name=f"n{number}")

    nodes = tuple(made(number) for number in range(size))
    chain = (
        (flow.START, *nodes) if shape == "row" else (flow.START, nodes, flow.JoinNode(name="join"))
    )
    graph = flow.Workflow(name="flow", edges=[chain])
    service = sessions.InMemorySessionService()
    runner = runners.Runner(node=graph, app_name="bench", session_service=service)

    async def run() -> int:
        session = await service.create_session(app_name="bench", user_id="u")
        message = types.Content(role="user", parts=[types.Part(text="Go")])
        count = 0
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            count += 1
        return count

    return run


def build_langgraph(shape: str, size: int) -> Callable[[], Coroutine[Any, Any, int]]:
    """A run of a graph of langgraph with a checkpointer in memory."""
    import operator
    from typing import Annotated, TypedDict

    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph

    State = TypedDict("State", {"seen": Annotated[list[int], operator.add]})  # noqa: UP013
    if shape == "row":
        State = TypedDict("State", {"seen": int})  # type: ignore[misc]  # noqa: UP013
    graph: Any = StateGraph(State)
    for number in range(size):

        async def count(state: Any, number: int = number) -> dict[str, Any]:
            return {"seen": number if shape == "row" else [number]}

        graph.add_node(f"n{number}", count)
        before = START if shape == "fan" or number == 0 else f"n{number - 1}"
        graph.add_edge(before, f"n{number}")
    if shape == "fan":
        graph.add_node("join", lambda state: {"seen": []})
        graph.add_edge([f"n{number}" for number in range(size)], "join")
        graph.add_edge("join", END)
    else:
        graph.add_edge(f"n{size - 1}", END)
    app = graph.compile(checkpointer=InMemorySaver())

    async def run() -> int:
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": size + 10}
        start: Any = {"seen": 0 if shape == "row" else []}
        count = 0
        async for _ in app.astream(start, config, stream_mode="updates"):
            count += 1
        return count

    return run


def child(peer: str, shape: str, size: int) -> None:
    """Measure one run and print it as JSON."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)

    def build(nodes: int) -> Callable[[], Coroutine[Any, Any, int]]:
        if peer == "langgraph":
            return build_langgraph(shape, nodes)
        return build_adk(PEERS[peer], shape, nodes)

    asyncio.run(build(2)())  # what is loaded late is loaded now
    began = time.process_time()
    run = build(size)
    built = time.process_time()
    events = asyncio.run(run())
    ended = time.process_time()
    figures = {"build": built - began, "run": ended - built, "events": events}
    print(json.dumps(figures))


def interpreter(peer: str) -> str:
    """The Python of a peer's environment."""
    if peer == "ours":
        return sys.executable
    command = [sys.executable, str(HERE / "setup_peers.py"), "--python", peer]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def measure(peer: str, shape: str, size: int, reps: int) -> dict[str, float] | str:
    """The best of some runs, or why there is none."""
    best: dict[str, float] | None = None
    command = [interpreter(peer), __file__, "--child", peer, shape, str(size)]
    for _ in range(reps):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT, env=dict(os.environ)
            )
        except subprocess.TimeoutExpired:
            return f"not in {LIMIT:.0f} s"
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["failed"])[-1][:60]
        figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        if best is None or figures["run"] < best["run"]:
            best = figures
    return best or "failed"


def main() -> None:
    """Measure every peer and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=list(PEERS))
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=3)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], options.child[1], int(options.child[2]))
        return
    found: list[dict[str, Any]] = []
    print(f"{'peer':<10} {'shape':<5} {'nodes':>6} {'build ms':>9} {'run ms':>9} {'us/node':>8}")
    for shape, sizes in (QUICK if options.quick else SIZES).items():
        for size in sizes:
            for peer in options.only or PEERS:
                got = measure(peer, shape, size, options.reps)
                entry = {"peer": peer, "shape": shape, "nodes": size, "got": got}
                found.append(entry)
                if isinstance(got, str):
                    print(f"{peer:<10} {shape:<5} {size:>6} {got}", flush=True)
                    continue
                build, run = got["build"] * 1e3, got["run"] * 1e3
                each = f"{run / size * 1e3:>8.0f}"
                print(
                    f"{peer:<10} {shape:<5} {size:>6} {build:>9.0f} {run:>9.1f} {each}", flush=True
                )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

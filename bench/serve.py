"""A server beside google-adk's api_server, with one agent whose model takes 50 ms: seconds from
its start to ready and to the first answer, CPU time and memory by then, and requests per second and
latency of concurrent SSE runs on SQLite. `serve.py --runs 1000 --concurrent 1000`."""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from setup_peers import interpreter

AGENT = """
import asyncio
from {package}.agents import Agent
from {package}.models.base_llm import BaseLlm
from {package}.models.llm_response import LlmResponse

class Slow(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        await asyncio.sleep(0.05)
        yield LlmResponse(content={{"role": "model", "parts": [{{"text": "done"}}]}})

root_agent = Agent(name="desk", model=Slow(model="slow"), instruction="Answer.")
"""
USERS = "/apps/desk/users/ann/sessions"
PATIENCE = 120.0


def command(name, agents, db, port):
    """How a server is started."""
    if name == "ours":
        program = [sys.executable, "-m", "ostinato", "serve", str(agents), "--db", str(db)]
    else:
        adk = str(Path(interpreter(name)).parent / "adk")
        uri = f"sqlite+aiosqlite:///{db}"
        program = [adk, "api_server", "--session_service_uri", uri, str(agents)]
    return [
        *program,
        "--port",
        str(port),
        "--log_level",
        "error",
    ]


def ask(port, method, path, body=None):
    """One request; the answer's JSON."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def message(session):
    """The body of a run."""
    words = {"role": "user", "parts": [{"text": "hi"}]}
    return {"appName": "desk", "userId": "ann", "sessionId": session, "newMessage": words}


def megabytes(pid):
    """Resident memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(pid):
    """CPU time of a process so far, which other work on the machine changes little."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def one_run(port, session):
    """A run over a socket of its own: seconds, and whether all went well."""
    body = json.dumps(message(session)).encode()
    start = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /run_sse HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        answer = await asyncio.wait_for(reader.read(-1), PATIENCE)
        writer.close()
    except (OSError, TimeoutError):
        return time.perf_counter() - start, False
    good = answer.startswith(b"HTTP/1.1 200") and b'"text":"done"' in answer
    return time.perf_counter() - start, good and b'data: {"error"' not in answer


async def load(port, runs, concurrent):
    """Runs in sessions of their own, so many at once: wall seconds, latencies, errors."""
    room = asyncio.Semaphore(concurrent)

    async def limited(number):
        async with room:
            return await one_run(port, f"s{number}")

    start = time.perf_counter()
    found = await asyncio.gather(*(limited(number) for number in range(runs)))
    return (
        time.perf_counter() - start,
        [one for one, _ in found],
        sum(not good for _, good in found),
    )


def measure(name, runs, concurrent):
    """All figures of one server."""
    with tempfile.TemporaryDirectory() as place:
        agents = Path(place, "agents")
        folder = agents / "desk"
        folder.mkdir(parents=True)
        package = "ostinato" if name == "ours" else "google.adk"
        folder.joinpath("__init__.py").write_text("from . import agent\n")
        folder.joinpath("agent.py").write_text(AGENT.format(package=package))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        start = time.perf_counter()
        with Path(place, "log.txt").open("wb") as log:
            server = subprocess.Popen(
                command(name, agents, Path(place, "sessions.db"), port),
                cwd=place,
                stdout=log,
                stderr=log,
            )
        try:
            while True:
                try:
                    ask(port, "GET", "/health")
                    break
                except (OSError, ValueError):
                    if server.poll() is not None or time.perf_counter() - start > PATIENCE:
                        raise SystemExit(Path(place, "log.txt").read_text()) from None
                    time.sleep(0.005)
            ready = time.perf_counter() - start
            ask(port, "POST", USERS, {"sessionId": "first"})
            ask(port, "POST", "/run", message("first"))
            first = time.perf_counter() - start
            idle, cpu = megabytes(server.pid), processor_seconds(server.pid)
            for number in range(runs):
                ask(port, "POST", USERS, {"sessionId": f"s{number}"})
            wall, seconds, errors = asyncio.run(load(port, runs, concurrent))
            peak = megabytes(server.pid)
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return {
        "start to ready, s": ready,
        "start to first answer, s": first,
        "CPU to first answer, s": cpu,
        "idle RSS, MB": idle,
        "RSS after the load, MB": peak,
        "requests per second": (runs - errors) / wall,
        "p50, ms": cuts[49] * 1000,
        "p99, ms": cuts[98] * 1000,
        "errors": errors,
    }


def main():
    """Measure both, one after the other, and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--concurrent", type=int, default=1000)
    parser.add_argument("--only", choices=("ours", "adk"))
    given = parser.parse_args()
    names = [given.only] if given.only else ["ours", "adk"]
    found = {name: measure(name, given.runs, given.concurrent) for name in names}
    print("%d runs, %d at once" % (given.runs, given.concurrent))
    print("%-26s" % "" + "".join("%12s" % name for name in names) + "%14s" % "ours / adk")
    for row in found[names[0]]:
        values = [found[name][row] for name in names]
        ratio = "%.2f" % (values[0] / values[1]) if len(values) == 2 and values[1] else "-"
        print("%-26s" % row + "".join("%12.3g" % value for value in values) + "%14s" % ratio)


if __name__ == "__main__":
    main()

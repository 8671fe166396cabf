"""What a fresh process pays to import an agent, a runner and a session service, beside `import
pydantic` with one model defined: CPU seconds (best of some runs) and resident MB. `bench.py` prints
it under its tables; the goal is at most twice pydantic, under 45 MB."""

import json
import os
import subprocess
import sys

PYDANTIC = """
from pydantic import BaseModel
class One(BaseModel):
    text: str
"""
AGENTS = """
from {package}.agents import Agent
from {package}.runners import Runner
from {package}.sessions import InMemorySessionService
"""
MEASURE = """
import time
cpu = time.process_time()
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[1])
import json, os, sys
rss = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
print(json.dumps({"cpu": cpu, "mb": rss, "modules": len(sys.modules)}))
"""


def environment():
    """Ours, without the switch that would have a checkout compiled anew in each process: installed
    packages come with their bytecode."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def cold(python, code, runs=7):
    """The cheapest of some fresh processes that run `code`; None if it fails."""
    rows = []
    for _ in range(runs):
        command = [python, "-c", code + MEASURE]
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        if done.returncode:
            return None
        rows.append(json.loads(done.stdout))
    return min(rows[1:], key=lambda row: row["cpu"])


def cold_start(ours, package="ostinato"):
    """Both figures, and how many times pydantic's CPU ours takes; None if the imports fail."""
    base, own = cold(ours, PYDANTIC), cold(ours, AGENTS.format(package=package))
    if base is None or own is None:
        return None
    return {"ours": own, "pydantic": base, "times": own["cpu"] / base["cpu"]}


if __name__ == "__main__":
    print(json.dumps(cold_start(sys.executable, *sys.argv[1:])))

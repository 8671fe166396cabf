"""A soak: 1,000,000 events over 1,000 sessions in one SQLite file with a bounded cache, resident
memory sampled all the time. It ends after --seconds and goes on where it stopped when it is called
again; memory is judged within one process only. Prints its samples as JSON.

  scale_soak.py [--small] [--seconds 600] [--folder DIR] [--events N] [--sessions N]"""

import argparse
import asyncio
import gc
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from scale import Bench, rss, size_mb, sqlite

TURN = 4  # events of a turn
BURST = 10  # turns of a session before another takes its place
AT_ONCE = 20
CACHE_BYTES = 24 * 2**20  # of text; filled by about 70,000 events
SPREAD = 1.05
WARM = 0.1  # share of the events after which memory has to be flat


class Soak:
    """One process's part of the soak.

    The sessions in a burst are drawn in an order made from a seed and the number of the burst.
    """

    def __init__(self, folder, events, sessions, seconds):
        self.state = folder / "soak.json"
        found = json.loads(self.state.read_text()) if self.state.exists() else {}
        self.processes = found.get("processes", [])
        self.done = found.get("events", 0)
        self.path, self.events, self.sessions = folder / "soak.db", events, sessions
        self.end = time.monotonic() + seconds
        self.samples = []
        self.began = time.monotonic()

    async def run(self):
        """Run bursts until all events are there or the time is over."""
        service = sqlite(self.path, cache_bytes=CACHE_BYTES)
        bench = Bench(service)
        workers = [self.bursts(bench, number) for number in range(AT_ONCE)]
        every = max(TURN * AT_ONCE, self.events // 200)
        self.next = self.done + every
        self.every = every
        await asyncio.gather(*workers)
        await service.flush()
        self.sample()
        self.keep()
        await service.close()

    async def bursts(self, bench, worker):
        """Bursts of one worker; each session belongs to one worker."""
        order = random.Random("%d %d" % (self.done, worker))
        mine = range(worker, self.sessions, AT_ONCE)
        while self.done < self.events and time.monotonic() < self.end:
            session = "session-%d" % order.choice(mine)
            for _ in range(BURST):
                await bench.turn(session)
                self.done += TURN
                if self.done >= self.next:
                    self.next += self.every
                    self.sample()
                    self.keep()

    def sample(self):
        """Note the resident memory and how far we are."""
        if len(self.samples) % 10 == 0:
            gc.collect()
        self.samples.append(
            {
                "events": self.done,
                "seconds": round(time.monotonic() - self.began, 1),
                "rss_mb": round(rss(), 1),
                "file_mb": round(size_mb(self.path), 1),
            }
        )

    def keep(self):
        """Write the state for whoever goes on."""
        fresh = self.state.with_suffix(".new")
        fresh.write_text(
            json.dumps({"events": self.done, "processes": [*self.processes, self.samples]})
        )
        os.replace(fresh, self.state)

    def result(self):
        """The samples of all processes, and how much memory moved in the longest of them."""
        processes = [samples for samples in [*self.processes, self.samples] if samples]
        longest = max(processes, key=lambda samples: samples[-1]["events"] - samples[0]["events"])
        start = longest[0]["events"] + WARM * self.events
        late = [each["rss_mb"] for each in longest if each["events"] >= start]
        moved = max(late) / min(late) if late else None
        return {
            "events": self.done,
            "goal": self.events,
            "sessions": self.sessions,
            "cache_mb": CACHE_BYTES / 1e6,
            "rss_moved": moved,
            "flat": moved is not None and moved <= SPREAD,
            "processes": processes,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--folder", help="where the file and the state are kept")
    parser.add_argument("--events", type=int)
    parser.add_argument("--sessions", type=int)
    asked = parser.parse_args()
    events = asked.events or (4_000 if asked.small else 1_000_000)
    sessions = asked.sessions or (100 if asked.small else 1_000)
    default = Path(tempfile.gettempdir()) / ("ostinato-soak-%d" % events)
    folder = Path(asked.folder) if asked.folder else default
    folder.mkdir(parents=True, exist_ok=True)
    soak = Soak(folder, events, sessions, asked.seconds)
    asyncio.run(soak.run())
    print(json.dumps(soak.result()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

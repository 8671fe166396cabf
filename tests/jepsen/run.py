"""Runs concurrent clients against sessions while faults are injected, and checks the history.

    make jepsen MINUTES=60 STORE=postgres SEED=7
    python -m tests.jepsen.run --store sqlite --seconds 45

Each round has new sessions, a seed of its own and ends when everything has settled; a failure
names the round, which `--seed SEED --first ROUND --rounds 1` takes again: the same clients and
the same plan of faults, at moments that differ by what the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from tests.crash.world import Record
from tests.jepsen.checker import Violation, check_history
from tests.jepsen.client import ClientPlan
from tests.jepsen.forks import ForkServer
from tests.jepsen.history import History, read_history
from tests.jepsen.nemesis import Nemesis
from tests.jepsen.network import Network, NoNetwork, choose_network
from tests.jepsen.servers import SERVERS, Server
from tests.support.throwaway_postgres import find_free_port

STORES = ("sqlite", *SERVERS)
CLIENTS = 3
ROUND_SECONDS = 20.0
_CLOCKS_BEHIND = (0.0, 1.5, 3.0)  # seconds, one for each client, where clocks differ
_SHOWN = 20  # violations that are printed
_LATE_SECONDS = 30.0  # for a client to end after its time, and for the judge beyond its patience


class ClientProcess:
    """A client's process and those that follow it after a kill.

    Args:
      plan: what it does.
      number: its place in the network.
      forks: what starts it there.
    """

    def __init__(self, plan: ClientPlan, number: int, forks: ForkServer) -> None:
        self.number = number
        self._plan, self._forks = plan, forks
        self._lives = 0
        self._pid: int | None = None
        self.failures: list[str] = []
        self._start()

    def _start(self) -> None:
        """Start it, under a name that no earlier one had."""
        self._lives += 1
        name = f"{self._plan.name}.{self._lives}"
        seed = self._plan.seed + 1000 * self._lives
        self._pid = self._forks.start(replace(self._plan, name=name, seed=seed))

    def send(self, how: signal.Signals) -> None:
        """Send a signal; nothing if it has ended."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, how)

    async def restart(self) -> None:
        """Wait for the end of a killed one and start the next."""
        await asyncio.to_thread(self._forks.wait, _LATE_SECONDS)
        self._start()

    def wait(self) -> None:
        """Wait for its end, and kill it if that does not come."""
        code = self._forks.wait(max(0.0, self._plan.until - time.monotonic()) + _LATE_SECONDS)
        if code is None:
            self.failures.append(f"client {self._plan.name} hung")
            self.end()
        elif code != 0:
            told = errors_of(self._plan, f"{self._plan.name}.{self._lives}")
            self.failures.append(f"client {self._plan.name}: {code} {told}")
        self._pid = None

    def end(self) -> None:
        """Kill it if it still runs."""
        if self._pid is not None:
            self.send(signal.SIGKILL)
            self._forks.wait(_LATE_SECONDS)
            self._pid = None


def errors_of(plan: ClientPlan, name: str) -> str:
    """Return what a process has written to its standard error."""
    return (Path(plan.folder) / f"{name}.errors").read_text()[-2000:]


class Rounds:
    """Rounds over one store.

    Args:
      store: one of `STORES`.
      seed: which operations and faults.
      folder: where everything is noted.
      network: between clients and store.
      server: the database; None for SQLite.
      plant: a fault of `planted.py`, for SQLite.

    Attributes:
      figures: counts of operations, outcomes and faults.
    """

    def __init__(
        self,
        store: str,
        seed: int,
        folder: Path,
        network: Network,
        server: Server | None,
        plant: str = "",
    ) -> None:
        self._store, self._seed, self._folder, self._plant = store, seed, folder, plant
        self._network, self._server = network, server
        self._forks: list[ForkServer] = []
        self.figures: Counter[str] = Counter()

    def __enter__(self) -> Self:
        for number in range(CLIENTS + 1):
            self._forks.append(ForkServer(number, self._network, self._folder))
        return self

    def __exit__(self, *_: object) -> None:
        for forks in self._forks:
            forks.close()

    def run(self, number: int, seconds: float) -> tuple[list[Violation], Path]:
        """Run one round and check it; return what is wrong, and its folder."""
        folder = self._folder / f"round{number}"
        folder.mkdir()
        chance = random.Random(f"{self._seed} {number}")
        url = self._server.url if self._server is not None else ""
        sessions = [f"r{number}-{chance.randrange(2**32):08x}-{i}" for i in range(2)]
        plan = ClientPlan("judge", str(folder), url, sessions, 0.0, 0)
        self._run_judge("create", plan)
        # Every other round, clients are on hosts whose clocks differ; a file has one host.
        clocks_agree = self._server is None or number % 2 == 0
        plan.until = time.monotonic() + seconds
        strays = asyncio.run(self._let_clients_run(plan, chance, clocks_agree))
        self._run_judge("settle", plan)
        history = read_history(folder)
        history.clocks_agree = clocks_agree
        self._count(history)
        found = [Violation("client", "", each) for each in strays] + check_history(history)
        return found, folder

    async def _let_clients_run(
        self, plan: ClientPlan, chance: random.Random, clocks_agree: bool
    ) -> list[str]:
        clients: list[ClientProcess] = []
        behind = chance.sample(_CLOCKS_BEHIND, CLIENTS)
        try:
            for number in range(1, CLIENTS + 1):
                own = replace(
                    plan,
                    name=f"c{number}",
                    url=self._network.find_url(number, plan.url) if plan.url else "",
                    seed=chance.randrange(2**31),
                    is_away=chance.random() < 0.5,
                    pace=chance.choice((0.0, 0.02, 0.4)),
                    behind=0.0 if clocks_agree else behind[number - 1],
                    plant=self._plant,
                )
                clients.append(ClientProcess(own, number, self._forks[number]))
            file = self._folder / "sessions.db"
            seed = chance.randrange(2**31)
            notes = Record(Path(plan.folder) / "faults")
            nemesis = Nemesis(seed, clients, self._network, self._server, file, notes)
            await nemesis.run(plan.until)
            self.figures.update({f"fault: {k}": n for k, n in nemesis.faults.items()})
            for client in clients:
                await asyncio.to_thread(client.wait)
        finally:
            for client in clients:
                client.end()
        return [failure for client in clients for failure in client.failures]

    def _run_judge(self, step: str, plan: ClientPlan) -> None:
        judge = replace(plan, name=step)
        self._forks[0].start(judge)
        code = self._forks[0].wait(60 + 60 * len(plan.sessions) + _LATE_SECONDS)
        if code != 0:
            raise RuntimeError(f"{step} ended with {code}: {errors_of(judge, step)}")

    def _count(self, history: History) -> None:
        self.figures["rounds"] += 1
        self.figures["operations"] += len(history.operations)
        self.figures["effects"] += len(history.effects)
        self.figures["events"] += sum(len(each.events) for each in history.finals.values())
        for operation in history.operations:
            self.figures[f"{operation.kind}: {operation.outcome}"] += 1


def run_rounds(
    store: str,
    seed: int,
    seconds: float,
    *,
    first: int = 0,
    rounds: int = 10**9,
    wants_proxy: bool = False,
    keep: Path | None = None,
    plant: str = "",
) -> dict[str, Any]:
    """Run rounds for so many seconds.

    Args:
      store: one of `STORES`.
      seed: which.
      seconds: for how long.
      first: the number of the first round.
      rounds: how many at most.
      wants_proxy: whether to cut by proxies, although namespaces may be permitted.
      keep: where to copy the histories of rounds with violations.
      plant: a fault of `planted.py`, for SQLite.

    Returns:
      The figures, with the violations among them.
    """
    begun, violations = time.monotonic(), list[dict[str, Any]]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ostinato-jepsen-")))
        server: Server | None = None
        network: Network = NoNetwork()
        if store != "sqlite":
            port = find_free_port()
            network = choose_network(CLIENTS, port, wants_proxy=wants_proxy)
            stack.callback(network.close)
            server = own = SERVERS[store](network, port)
            stack.callback(own.close)
        made = stack.enter_context(Rounds(store, seed, folder, network, server, plant))
        until, number = time.monotonic() + seconds, first
        while number < first + rounds and (left := until - time.monotonic()) > 0:
            found, place = made.run(number, min(ROUND_SECONDS, max(left, 2.0)))
            violations += [{"round": number, **each._asdict()} for each in found]
            if found and keep is not None:
                kept = keep / f"{store}-{seed}-{number}"
                shutil.copytree(place, kept, dirs_exist_ok=True)
                if server is not None:
                    shutil.copy(server.log, kept / "server.log")
            shutil.rmtree(place)
            number += 1
        figures = dict(sorted(made.figures.items()))
    return {
        "store": store,
        "seed": seed,
        "network": network.name,
        "seconds": round(time.monotonic() - begun, 1),
        "figures": figures,
        "violations": violations,
    }


def main() -> int:
    """Run rounds and print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", choices=STORES, default="sqlite")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, help="instead of minutes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=10**9)
    parser.add_argument("--proxy", action="store_true", help="cut by proxies, not by namespaces")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--keep", type=Path, help="copy histories with violations there")
    args = parser.parse_args()
    seconds = args.minutes * 60 if args.seconds is None else args.seconds
    told = run_rounds(
        args.store,
        args.seed,
        seconds,
        first=args.first,
        rounds=args.rounds,
        wants_proxy=args.proxy,
        keep=args.keep,
    )
    print(f"{told['store']} over {told['network']}, seed {told['seed']}: {told['seconds']} s")
    print(", ".join(f"{count} {name}" for name, count in told["figures"].items()))
    for each in told["violations"][:_SHOWN]:
        print(f"round {each['round']}, {each['kind']} in {each['session']}: {each['text']}")
    print(f"{len(told['violations'])} violations")
    if args.json:
        args.json.write_text(json.dumps(told, indent=1))
    return 1 if told["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())

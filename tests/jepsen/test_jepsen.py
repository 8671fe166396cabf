"""A short run over each store, with the faults that a long one has; `make jepsen` takes hours.

Rounds run in a process of their own, as everything that forks does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.jepsen import network as networks
from tests.jepsen.nemesis import CLIENT_FAULTS
from tests.jepsen.network import Namespaces, Proxies, choose_network, remove_stale_namespaces
from tests.jepsen.run import CLIENTS, STORES
from tests.jepsen.servers import SERVERS, end_with_parent
from tests.support.databases import execute
from tests.support.throwaway_postgres import find_free_port

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30

pytestmark = [pytest.mark.service, pytest.mark.long]


@pytest.mark.parametrize("store", STORES)
def test_the_history_of_concurrent_clients_breaks_no_promise(tmp_path: Path, store: str) -> None:
    path = tmp_path / "figures.json"
    command = ["-m", "tests.jepsen.run", "--store", store, "--seconds", str(SECONDS)]
    done = subprocess.run(
        [sys.executable, *command, "--json", str(path), "--keep", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(path.read_text())
    figures = told["figures"]
    assert told["violations"] == []
    assert min(figures[name] for name in ("read: ok", "append: ok", "message: ok", "effects")) > 0
    assert sum(figures.get(f"fault: {name}", 0) for name in CLIENT_FAULTS) > 0


@pytest.mark.parametrize("store", SERVERS)
def test_a_server_is_paused_killed_and_started_again(store: str) -> None:
    network = Proxies(1, port := find_free_port())
    server = SERVERS[store](network, port)
    try:
        url = network.find_url(1, server.url)
        assert execute(url, "CREATE TABLE t (n INT)", "INSERT INTO t VALUES (1)") == []
        server.pause()
        server.resume()
        for end in (server.kill, server.stop_cleanly):
            end()
            server.start()
            assert execute(url, "SELECT n FROM t") == [(1,)]
    finally:
        server.close()
        network.close()
    assert not server.folder.exists()


def test_namespaces_are_cut_and_removed() -> None:
    try:
        network = Namespaces(1)
    except (OSError, subprocess.SubprocessError):
        return  # not permitted here: the proxies are used, and tested below
    try:
        listen = "import socket; s = socket.create_server(('10.211.7.1', 7000))"
        program = f"{listen}; print(1, flush=True); input()"
        server = subprocess.Popen(
            network.wrap_server(end_with_parent([sys.executable, "-c", program])),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert server.stdout is not None and server.stdout.readline() == b"1\n"
        assert _reaches(network)
        for way in network.ways:
            network.cut(1, way)
            assert not _reaches(network), way
            network.heal(1)
            assert _reaches(network), way
        server.communicate(b"\n")
    finally:
        network.close()
    assert not any(f"{os.getpid()}" in name for name in os.listdir("/run/netns"))


def _reaches(network: Namespaces) -> bool:
    connect = "import socket; socket.create_connection(('10.211.7.1', 7000), 1.0).close()"
    command = network.wrap_client(1, [sys.executable, "-c", connect])
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_proxies_are_used_where_namespaces_are_not_permitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: str) -> None:
        raise subprocess.CalledProcessError(1, "ip", stderr="Operation not permitted")

    monkeypatch.setattr(networks, "_run_ip", refuse)
    monkeypatch.setattr(networks, "remove_stale_namespaces", lambda: None)
    network = choose_network(CLIENTS, find_free_port())
    try:
        assert isinstance(network, Proxies)
        url = make_url(network.find_url(1, "postgresql+asyncpg://postgres@127.0.0.1:1/x"))
        assert url.host == "127.0.0.1" and url.port not in (1, None)
    finally:
        network.close()


def test_namespaces_of_processes_that_are_gone_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[tuple[str, ...]] = []
    names = ["ostinato-j999999999-db", f"ostinato-j{os.getpid()}-c1", "another"]
    monkeypatch.setattr(networks.os, "listdir", lambda _: names)
    monkeypatch.setattr(networks, "_run_ip", lambda *args: removed.append(args))
    remove_stale_namespaces()
    assert removed == [("netns", "del", "ostinato-j999999999-db")]

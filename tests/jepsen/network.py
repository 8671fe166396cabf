"""Networks between clients and a database that can be cut.

`Namespaces` gives the database and each client a network namespace of Linux, joined by a bridge
within the database's own; a cut drops packets without a word to either side. `Proxies` puts a TCP
proxy on loopback before each client, where namespaces are not permitted. No packet leaves the
machine with either.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from sqlalchemy import make_url

from tests.outage.proxy import Proxy

_PREFIX = "ostinato-j"
_SUBNET = "10.211.7"
_NOWHERE = "02:00:00:00:00:99"  # an address of no device: what is sent there is lost
_PAUSE_SECONDS = 0.3


class Network(Protocol):
    """How clients reach the database.

    Attributes:
      name: what it is made of.
      host: the address that the database listens on.
      ways: the ways in which it can be cut.
    """

    name: str
    host: str
    ways: tuple[str, ...]

    def wrap_server(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs the database in its place."""
        ...

    def wrap_client(self, number: int, command: Sequence[str]) -> list[str]:
        """Return a command that runs a client in its place; 0 is the judge's, never cut."""
        ...

    def find_url(self, number: int, url: str) -> str:
        """Return the database's URL for a client."""
        ...

    def cut(self, number: int, way: str) -> None:
        """Cut a client off."""
        ...

    def heal(self, number: int) -> None:
        """Join a client again."""
        ...

    def close(self) -> None:
        """Remove it."""
        ...


def _run_ip(*args: str) -> None:
    subprocess.run(["ip", *args], check=True, capture_output=True, text=True, timeout=20)


class Namespaces:
    """A network namespace for the database and for each client.

    Args:
      clients: how many clients, beside number 0.

    Raises:
      OSError, subprocess.SubprocessError: the system does not permit it.
    """

    name = "network namespaces"
    host = f"{_SUBNET}.1"
    ways: tuple[str, ...] = ("both", "answers", "requests")

    def __init__(self, clients: int) -> None:
        self._count = clients + 1
        self._prefix = f"{_PREFIX}{os.getpid()}"
        remove_stale_namespaces()
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _space(self, number: int | None) -> str:
        return f"{self._prefix}-db" if number is None else f"{self._prefix}-c{number}"

    def _make(self) -> None:
        server = self._space(None)
        _run_ip("netns", "add", server)
        _run_ip("-n", server, "link", "set", "lo", "up")
        _run_ip("-n", server, "link", "add", "br0", "type", "bridge")
        _run_ip("-n", server, "addr", "add", f"{self.host}/24", "dev", "br0")
        _run_ip("-n", server, "link", "set", "br0", "up")
        for number in range(self._count):
            space = self._space(number)
            _run_ip("netns", "add", space)
            names = ("link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0")
            _run_ip("-n", server, *names, "netns", space)
            _run_ip("-n", server, "link", "set", f"v{number}", "master", "br0", "up")
            address = f"{_SUBNET}.{10 + number}/24"
            _run_ip("-n", space, "addr", "add", address, "dev", "eth0")
            _run_ip("-n", space, "link", "set", "lo", "up")
            _run_ip("-n", space, "link", "set", "eth0", "up")

    def wrap_server(self, command: Sequence[str]) -> list[str]:
        """See `Network`."""
        return ["ip", "netns", "exec", self._space(None), *command]

    def wrap_client(self, number: int, command: Sequence[str]) -> list[str]:
        """See `Network`."""
        return ["ip", "netns", "exec", self._space(number), *command]

    def find_url(self, number: int, url: str) -> str:
        """See `Network`."""
        return url

    def cut(self, number: int, way: str) -> None:
        """See `Network`."""
        if way == "both":
            _run_ip("-n", self._space(None), "link", "set", f"v{number}", "down")
            return
        # In one direction, packets go to a device that does not exist: no side gets an error.
        answers = way == "answers"
        space = self._space(None) if answers else self._space(number)
        peer, device = (f"{_SUBNET}.{10 + number}", "br0") if answers else (self.host, "eth0")
        entry = ("neigh", "replace", peer, "lladdr", _NOWHERE, "dev", device, "nud", "permanent")
        _run_ip("-n", space, *entry)

    def heal(self, number: int) -> None:
        """See `Network`."""
        server, space = self._space(None), self._space(number)
        _run_ip("-n", server, "link", "set", f"v{number}", "up")
        pairs = ((server, f"{_SUBNET}.{10 + number}", "br0"), (space, self.host, "eth0"))
        for each, peer, device in pairs:
            with suppress(subprocess.CalledProcessError):  # it had none
                _run_ip("-n", each, "neigh", "del", peer, "dev", device)

    def close(self) -> None:
        """See `Network`."""
        for number in (*range(self._count), None):
            with suppress(subprocess.CalledProcessError):  # it was not made
                _run_ip("netns", "del", self._space(number))


def remove_stale_namespaces() -> None:
    """Remove the namespaces of runs whose process has been killed."""
    with suppress(FileNotFoundError):
        for name in os.listdir("/run/netns"):
            owner = name.removeprefix(_PREFIX).partition("-")[0]
            if name.startswith(_PREFIX) and not os.path.exists(f"/proc/{owner}"):
                _run_ip("netns", "del", name)


class Proxies:
    """A TCP proxy on loopback for each client.

    Args:
      clients: how many clients, beside number 0.
      port: the database's.
    """

    name = "loopback proxies"
    host = "127.0.0.1"
    ways: tuple[str, ...] = ("cut", "drop", "reset", "silence", "answers", "delay")

    def __init__(self, clients: int, port: int) -> None:
        self._proxies = [Proxy(self.host, port) for _ in range(clients)]

    def wrap_server(self, command: Sequence[str]) -> list[str]:
        """See `Network`."""
        return list(command)

    def wrap_client(self, number: int, command: Sequence[str]) -> list[str]:
        """See `Network`."""
        return list(command)

    def find_url(self, number: int, url: str) -> str:
        """See `Network`."""
        if number == 0:
            return url
        behind = make_url(url).set(port=self._proxies[number - 1].port)
        return behind.render_as_string(hide_password=False)

    def cut(self, number: int, way: str) -> None:
        """See `Network`."""
        proxy = self._proxies[number - 1]
        if way == "delay":
            proxy.delay(_PAUSE_SECONDS)
        elif way == "answers":
            proxy.mute()
        elif way == "silence":
            proxy.silence()
        else:
            {"cut": proxy.cut, "drop": proxy.drop, "reset": proxy.reset}[way]()

    def heal(self, number: int) -> None:
        """See `Network`."""
        self._proxies[number - 1].delay(0.0)
        self._proxies[number - 1].restore()

    def close(self) -> None:
        """See `Network`."""
        for proxy in self._proxies:
            proxy.close()


class NoNetwork:
    """For a file: there is nothing between."""

    name = "no network"
    host = ""
    ways: tuple[str, ...] = ()

    def wrap_server(self, command: Sequence[str]) -> list[str]:
        """See `Network`."""
        return list(command)

    def wrap_client(self, number: int, command: Sequence[str]) -> list[str]:
        """See `Network`."""
        return list(command)

    def find_url(self, number: int, url: str) -> str:
        """See `Network`."""
        return url

    def cut(self, number: int, way: str) -> None:
        """There is nothing to cut."""

    def heal(self, number: int) -> None:
        """There is nothing to join."""

    def close(self) -> None:
        """There is nothing to remove."""


def choose_network(clients: int, port: int, *, wants_proxy: bool = False) -> Network:
    """Make the best network that the system permits.

    Args:
      clients: how many clients, beside number 0.
      port: the database's.
      wants_proxy: whether to take proxies anyway.
    """
    if not wants_proxy:
        with suppress(OSError, subprocess.SubprocessError):
            return Namespaces(clients)
    return Proxies(clients, port)

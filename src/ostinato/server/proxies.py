"""TrustedProxies: the client's address and scheme, as trusted proxies report them."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import Scope

from ..hosting.setup_error import SetupError

_HOPS = 32  # last entries of X-Forwarded-For that are read
_LONGEST = 2048  # last characters of the header that are read
_SCHEMES = {"http": ("http", "ws"), "https": ("https", "wss")}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class TrustedProxies:
    """Finds the client of a request that came through proxies.

    Every proxy appends its caller's address to X-Forwarded-For. The header is therefore read from
    its right end, as long as the addresses belong to trusted proxies: anything further left may
    come from the client, which can write what it likes.

    Args:
      names: addresses and networks, such as `10.0.0.7` and `10.0.0.0/8`.

    Raises:
      SetupError: a name is neither.
    """

    def __init__(self, names: Sequence[str]) -> None:
        try:
            self._networks = [ipaddress.ip_network(name.strip(), strict=False) for name in names]
        except ValueError as error:
            raise SetupError(f"--trusted-proxies takes addresses and networks: {error}.") from error

    def resolve_client(self, scope: Scope, headers: Headers) -> Scope:
        """Return a copy of a connection's scope with the client's own address and scheme."""
        peer = (scope.get("client") or ("", 0))[0]
        if not self._networks or not self._is_trusted(_parse_address(peer)):
            return scope
        changed = {**scope, "client": (self._find_client(peer, headers), 0)}
        scheme = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        if scheme in _SCHEMES:
            changed["scheme"] = _SCHEMES[scheme][scope["type"] == "websocket"]
        return changed

    def _find_client(self, peer: str, headers: Headers) -> str:
        entries = ",".join(headers.getlist("x-forwarded-for"))[-_LONGEST:]
        client = peer
        for entry in reversed(entries.split(",")[-_HOPS:]):
            address = _parse_address(entry.strip())
            if address is None:
                break
            client = str(address)
            if not self._is_trusted(address):
                break
        return client

    def _is_trusted(self, address: _Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _parse_address(text: str) -> _Address | None:
    """Return the address of an entry, which may include a port, or None if it is not valid."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found

"""Which network addresses a tool may connect to on a model's word: public ones only.

The model, and through it any page it has read, chooses the address; this machine can reach more
than the model may. The page loader asks here before every connection.
"""

from __future__ import annotations

import ipaddress
import socket

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Tunnels that end at an IPv4 address of the sender's choice; nobody serves pages there any more.
_TUNNELS = (ipaddress.IPv6Network("2002::/16"), ipaddress.IPv6Network("2001::/32"))


class RefusedAddress(Exception):
    """An address that must not be connected to, or that does not exist; the message is for the
    model."""


def public_addresses(host: str, port: int) -> list[str]:
    """Resolve a host and return its addresses; the caller connects to one of these and no other.

    Args:
      host: name or literal address, without brackets.
      port: the port, 1 to 65535.

    Raises:
      RefusedAddress: the name does not resolve, or any of its addresses is not public.
    """
    name = host.rstrip(".").lower()
    if name in _LOCAL_NAMES or name.endswith(tuple(f".{local}" for local in _LOCAL_NAMES)):
        raise RefusedAddress(f"{host} is a name of a local network")
    addresses = resolve(host, port)
    for address in addresses:
        if not is_public(address):
            raise RefusedAddress(f"{host} does not lead to a public address")
    return addresses


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, each once, in the system's order.

    Raises:
      RefusedAddress: the name does not resolve.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RefusedAddress(f"{host} cannot be found") from error
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def is_public(address: str) -> bool:
    """Tell whether an address belongs to a host of the public internet."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        if any(parsed in tunnel for tunnel in _TUNNELS):
            return False
        inner = _embedded(parsed)
        if inner is not None:
            return _is_public(inner)
    return _is_public(parsed)


def _is_public(address: _Address) -> bool:
    return address.is_global and not (
        address.is_multicast
        or address.is_reserved
        or (isinstance(address, ipaddress.IPv6Address) and address.is_site_local)
    )


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that packets to this one go to in the end, if there is one."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped

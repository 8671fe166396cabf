"""Which network addresses may be connected to on another party's word: public ones only.

A model, a page that it has read, or a user names the host; this machine can reach more than they
may. The page loader and the transport of models ask here before a connection.
"""

from __future__ import annotations

import ipaddress
import socket

_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Python's table of special addresses grows from version to version, and knows no clouds.
_NOT_PUBLIC_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # relays of 6to4
            "168.63.129.16/32",  # Azure's host
        ),
    )
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments; Teredo, which ends at any IPv4 address
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which ends at any IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
# Interface identifiers of ISATAP, behind which an IPv4 address stands.
_ISATAP = (0x00005EFE, 0x02005EFE)


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
    """Return whether an address belongs to a host of the public internet."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return _is_public_4(parsed)
    inner = _find_embedded_address(parsed)
    if inner is not None and not _is_public_4(inner):
        return False
    return parsed.ipv4_mapped is not None or parsed in _NAT64 or _is_public_6(parsed)


def _is_public_4(address: ipaddress.IPv4Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in _NOT_PUBLIC_4)


def _is_public_6(address: ipaddress.IPv6Address) -> bool:
    if address not in _GLOBAL_UNICAST or not address.is_global:
        return False
    return not any(address in network for network in _NOT_PUBLIC_6)


def _find_embedded_address(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that packets to this one go to in the end, if there is one."""
    bits = int(address)
    if address in _NAT64 or (bits >> 32) & 0xFFFFFFFF in _ISATAP:
        return ipaddress.IPv4Address(bits & 0xFFFFFFFF)
    return address.ipv4_mapped

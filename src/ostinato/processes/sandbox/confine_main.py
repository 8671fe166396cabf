"""Confines itself by the kernel's means that need no privilege, then becomes the command.

`init_main` runs it as a script; it imports nothing of this package. It takes a dictionary as JSON
(see `main`) and the command. What holds is written as JSON to a pipe, before the command starts.
"""

from __future__ import annotations

import ctypes
import errno as errors
import json
import os
import platform
import resource
import socket
import struct
import sys
from typing import Any, NoReturn

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, _SECCOMP_MODE_FILTER = 47, 4, 2
_LAST_CAPABILITY = 63

# linux/landlock.h
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH, _VERSION_FLAG = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_TCP, _SCOPES = 0b11, 0b11  # bind and connect; abstract sockets and signals

# Calls by number, in the order of `_NAMES`. They reach other processes, kernel objects that no
# limit counts, or parts of the kernel that ordinary programs do not need.
_X86_64 = """101 310 311 440 312 438 165 166 155 161 272 308 428 429 430 431 432 433 442 304 303 321
298 323 425 426 427 250 248 249 246 320 175 313 176 169 167 168 163 164 227 159 305 170 171 179 443
103 153 135 319 447 29 68 64 240 300 172 173 180 212 134 156 154"""
_AARCH64 = """117 270 271 440 272 438 40 39 41 51 97 268 428 429 430 431 432 433 442 265 264 280
241 282 425 426 427 219 217 218 104 294 105 273 106 142 224 225 89 170 112 171 266 161 162 60 443
116 58 92 279 447 194 186 190 180 262"""
# Landlock does not cover metadata of files, and priorities and limits of other processes.
_X86_64_SHARED = """90 91 268 452 92 93 94 260 188 189 190 197 198 199 463 466 132 235 280 261
141 251 144 314 142 203 256 279"""
_AARCH64_SHARED = "52 53 452 54 55 5 6 7 14 15 16 463 466 88 140 30 119 274 118 122 238 239"
# By machine: number of the architecture, denied calls, more of them on shared mounts, and the
# numbers of socket, clone, clone3 and prlimit64.
_CALLS = {
    "x86_64": (0xC000003E, _X86_64, _X86_64_SHARED, (41, 56, 435, 302)),
    "aarch64": (0xC00000B7, _AARCH64, _AARCH64_SHARED, (198, 220, 435, 261)),
}
_X32_BIT = 0x4000_0000
_NEW_NAMESPACES = 0x7E02_0080  # CLONE_NEW*, with NEWTIME

# linux/filter.h, linux/seccomp.h
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENT_AT = 0, 4, 16


def drop_identity(uid: int | None) -> None:
    """Give up root's identity, if a user is given, and every capability, for good."""
    for capability in range(_LAST_CAPABILITY + 1):
        _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _LIBC.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    header = struct.pack("Ii", 0x2008_0522, 0)  # _LINUX_CAPABILITY_VERSION_3
    _check(_LIBC.capset(header, bytes(24)), "capset")
    _check(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def restrict_paths(readable: list[str], writable: list[str]) -> int:
    """Leave this process only some paths, by Landlock.

    Args:
      readable: files and folders to read and to execute from.
      writable: files and folders to write too.

    Returns:
      The version of Landlock that applies; 0 for none.
    """
    version = _LIBC.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    if version < 1:
        return 0
    handled = (1 << 13) - 1
    handled |= _REFER if version >= 2 else 0
    handled |= _TRUNCATE if version >= 3 else 0
    handled |= _IOCTL_DEVICE if version >= 5 else 0
    fields = [handled]
    fields += [_TCP] if version >= 4 else []
    fields += [_SCOPES] if version >= 6 else []
    packed = struct.pack(f"{len(fields)}Q", *fields)
    ruleset = _check(_LIBC.syscall(_CREATE_RULESET, packed, len(packed), 0), "Landlock")
    for paths, access in ((readable, _READ), (writable, handled)):
        for path in paths:
            _add_path(ruleset, path, access & handled)
    _check(_LIBC.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)
    return version


def _add_path(ruleset: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what cannot be opened here cannot be opened later either
    if not os.path.isdir(path):
        access &= _OF_FILES
    rule = struct.pack("=Qi", access, place)
    _check(_LIBC.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0), f"Landlock for {path}")
    os.close(place)


def filter_calls(*, is_shared: bool) -> bool:
    """Refuse system calls that lead out of the sandbox, by seccomp.

    Args:
      is_shared: whether mounts, processes and networks are those of the machine; then sockets of
        every kind are refused, and changes of metadata and priorities too.

    Returns:
      Whether the kernel filters; False on machines whose calls are not known here.
    """
    known = _CALLS.get(platform.machine())
    if known is None:
        return False
    program = _build_filter(known, is_shared)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    # struct sock_fprog: number of instructions, and a pointer to them
    description = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    return _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, description, 0, 0) == 0


def _build_filter(
    known: tuple[int, str, str, tuple[int, int, int, int]], is_shared: bool
) -> list[tuple[int, int, int, int]]:
    """Return the instructions of the filter: code, jump if true, jump if false, value."""
    architecture, denied, denied_shared, (socket_call, clone, clone3, prlimit) = known
    refuse = (_RETURN, 0, 0, _ERRNO | errors.EPERM)
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _ERRNO | errors.ENOSYS),
        (_EQUAL, 0, 1, clone3),  # its flags lie in memory; the C library then uses clone
        (_RETURN, 0, 0, _ERRNO | errors.ENOSYS),
    ]
    for number in (denied + " " + denied_shared if is_shared else denied).split():
        program += [(_EQUAL, 0, 1, int(number)), refuse]
    program += [
        (_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _ARGUMENT_AT),
        (_ANY_BIT, 0, 1, _NEW_NAMESPACES),
    ]
    program += [refuse, (_LOAD, 0, 0, _NUMBER_AT)]
    if is_shared:
        program += [(_EQUAL, 0, 1, socket_call), refuse]
        program += [(_EQUAL, 0, 3, prlimit), (_LOAD, 0, 0, _ARGUMENT_AT), (_EQUAL, 1, 0, 0), refuse]
    else:
        program += [(_EQUAL, 0, 3, socket_call), (_LOAD, 0, 0, _ARGUMENT_AT)]
        program += [(_EQUAL, 1, 0, socket.AF_UNIX), refuse]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def set_limits(limits: dict[str, int]) -> None:
    """Set resource limits by name, never above what this process has."""
    for name, value in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _count_tasks(uid: int) -> int:
    """Return how many tasks a user has on this machine: the limit of processes counts them."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue  # it has ended
    return count


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _confine(wanted: dict[str, Any]) -> list[str]:
    """Confine this process; return the protections that hold."""
    is_shared, uid = wanted["is_shared"], wanted["uid"]
    limits: dict[str, int] = wanted["limits"]
    holds = ["memory", "processes"]
    if is_shared and uid is None:
        limits["RLIMIT_NPROC"] += _count_tasks(os.getuid())
    set_limits(limits)
    drop_identity(uid)
    version = restrict_paths(wanted["readable"], wanted["writable"])
    has_filter = filter_calls(is_shared=is_shared)
    if not is_shared:
        holds += ["files", "network", "signals", "disk"]
    else:
        holds += ["files"] if version >= 3 and has_filter else []
        holds += ["network"] if has_filter else []
        holds += ["signals"] if version >= 6 and has_filter else []
    return holds + (["calls"] if has_filter else [])


def main(wanted: dict[str, Any], words: list[str]) -> None:
    """Confine this process and execute the command in it.

    Args:
      wanted: `report` (descriptor of the pipe), `required` (protections), `is_shared`, `uid`
        (or None), `limits`, `readable` and `writable`.
      words: the command and its arguments.
    """
    report = wanted["report"]
    os.set_inheritable(report, False)
    _LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        holds = _confine(wanted)
        missing = [name for name in wanted["required"] if name not in holds]
        if missing:
            raise OSError(errors.ENOTSUP, "the kernel does not protect " + ", ".join(missing))
        os.write(report, json.dumps({"holds": holds}).encode() + b"\n")
    except OSError as error:
        _fail(report, error.strerror or str(error))
    try:
        os.execv(words[0], words)
    except OSError as error:
        name = os.path.basename(words[0])
        _fail(report, f"{name} does not start for the sandbox's user ({error.strerror})")


def _fail(report: int, why: str) -> NoReturn:
    os.write(report, json.dumps({"error": why}).encode() + b"\n")
    sys.exit(127)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])

"""Attempts of code to get out of a sandbox: small and bounded, so that a success hurts nobody.

Each prints ESCAPED if it succeeds. Names in braces are filled in by the test: files, sockets and
processes that it made outside of the sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass

_LIBC = "import ctypes, os; c = ctypes.CDLL(None, use_errno=True)\n"
_X86 = "import platform; assert platform.machine() == 'x86_64'\n"


@dataclass(frozen=True)
class Escape:
    """One attempt.

    Attributes:
      name: what is attempted, as docs/sandboxes.md has it.
      code: what the sandbox runs.
      not_promised: mechanisms that do not stop it, as the same page says.
    """

    name: str
    code: str
    not_promised: tuple[str, ...] = ()


def _when(condition: str, name: str, *, before: str = "", not_promised: str = "") -> Escape:
    """Return an attempt that succeeds if an expression is true."""
    code = before + f"if {condition}: print('ESCAPED')"
    return Escape(name, code, tuple(not_promised.split()))


def _then(statement: str, name: str, *, before: str = "", not_promised: str = "") -> Escape:
    """Return an attempt that succeeds if a statement raises nothing."""
    return Escape(name, f"{before}{statement}\nprint('ESCAPED')", tuple(not_promised.split()))


FILES = (
    _then("open('{secret}').read()", "read a file outside"),
    _then("open('{outside}/new', 'w')", "make a file outside"),
    _then("open('{secret}', 'a').write('x')", "append to a file outside"),
    _then("import os; os.truncate('{secret}', 0)", "truncate a file outside"),
    _then("import os; os.unlink('{secret}')", "remove a file outside"),
    _then("import os; os.rename('{secret}', 'mine')", "move a file in"),
    _then("import os; os.link('{secret}', 'mine')", "make a hard link to a file outside"),
    _then("import os; os.listdir('{outside}')", "list a folder outside"),
    _then("import os; os.chmod('{secret}', 0o777)", "change the mode of a file outside"),
    _then("import os; os.utime('{secret}', (1, 1))", "change the times of a file outside"),
    _then(
        "import os; os.symlink('{secret}', 'link'); open('link').read()",
        "read through a symbolic link",
    ),
    _then("open('../../../../../../..{secret}').read()", "climb out by '..'"),
    _when("os.path.exists('{secret}')", "see that a file exists", before="import os\n",
          not_promised="landlock"),
    _then("open('/etc/shadow').read()", "read /etc/shadow"),
    _then("open('/etc/passwd').read()", "read the list of users"),
    _then("open('/usr/bin/ostinato-test', 'w')", "write to the system's programs"),
    _then("import sys; open(sys.prefix + '/evil.py', 'w')", "write to the interpreter's packages"),
    _then("open('/ostinato-test', 'w')", "write to the root"),
    _then("import os; os.chroot('.')", "change the root"),
    _then("assert c.mount(b'none', b'/', b'tmpfs', 0, None) == 0", "mount a file system",
          before=_LIBC),
    _then("assert c.umount2(b'/sandbox', 2) == 0", "unmount the sandbox's own files",
          before=_LIBC),
    _then("import os; os.mknod('disk', 0o60666, os.makedev(8, 0))", "make a device"),
)  # fmt: skip

PROCESSES = (
    _then("import os; os.kill({victim}, 0)", "see a process of this machine"),
    _then("import os, signal; os.kill({victim}, signal.SIGTERM)", "end a process outside"),
    _then("open('/proc/{victim}/environ', 'rb').read()", "read a process's environment"),
    _then("open('/proc/1/environ', 'rb').read()", "read process 1's environment"),
    _then("open('/proc/{victim}/mem', 'rb')", "read a process's memory"),
    _when("any(n.isdecimal() for n in os.listdir('/proc'))", "list processes in /proc",
          before="import os\n"),
    _then("open('/proc/sys/kernel/hostname', 'w').write('x')", "change a setting of the kernel"),
    _then("open('/proc/self/root{secret}').read()", "read through /proc/self/root"),
    _then("assert c.ptrace(16, {victim}, 0, 0) == 0", "trace a process", before=_LIBC),
    _then("assert c.syscall(310, {victim}, 0, 0, 0, 0, 0) == 0",
          "read memory by process_vm_readv", before=_X86 + _LIBC),
    _then("import os; os.setpriority(os.PRIO_PROCESS, {victim}, 19)",
          "slow a process outside down"),
    _then("import resource; resource.prlimit({victim}, resource.RLIMIT_CPU)",
          "read or change limits of a process outside"),
    _when("[os.kill(1, 9), time.sleep(0.2), open('alive', 'w')][2] and os.getppid() != 1",
          "kill process 1", before="import os, time\n"),
)  # fmt: skip

PRIVILEGES = (
    _then("import os; os.setuid(0)", "become root"),
    _then("import os; os.setgroups([0])", "join root's group"),
    _when("int(subprocess.run(['su', '-c', 'id -u'], capture_output=True, text=True, input='')"
          ".stdout.strip() or 1) == 0", "run a setuid program", before="import subprocess\n"),
    _when("c.prctl(39, 0, 0, 0, 0) != 1", "gain privileges by exec", before=_LIBC),
    _then("assert c.unshare(0x10000000) == 0", "make a user namespace", before=_LIBC),
    _then("assert c.syscall(56, 0x10000011, 0, 0, 0, 0) >= 0", "clone into a user namespace",
          before=_X86 + _LIBC),
    _then("assert c.syscall(435, 0, 0) >= 0 or ctypes.get_errno() != 38",
          "clone3, whose flags no filter sees", before=_LIBC),
    _then("assert c.setns(0, 0) == 0 or ctypes.get_errno() != 1", "join a namespace",
          before=_LIBC),
    _then("assert c.syscall(425, 1, 0) >= 0 or ctypes.get_errno() != 1", "io_uring",
          before=_LIBC),
    _then("assert c.syscall(321, 0, 0, 0) >= 0 or ctypes.get_errno() != 1", "load a BPF program",
          before=_X86 + _LIBC),
    _then("assert c.syscall(250, 0, 0) >= 0 or ctypes.get_errno() != 1",
          "use the kernel's keyring", before=_X86 + _LIBC),
    _then("assert c.syscall(0x40000000 + 39) > 0", "system calls of the x32 kind",
          before=_X86 + _LIBC),
    _then("assert c.personality(0x0040000) >= 0", "switch off the random layout",
          before=_LIBC),
    _then("import socket; socket.sethostname('x')", "change the host's name"),
    _then("import time; time.clock_settime(time.CLOCK_REALTIME, time.time())", "set the clock"),
)  # fmt: skip

NETWORK = (
    _then("s.create_connection(('127.0.0.1', {port}), 2)", "connect to this machine",
          before="import socket as s\n"),
    _then("s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
          "send a datagram", before="import socket as s\n"),
    _then("s.create_server(('127.0.0.1', 0))", "listen on a port", before="import socket as s\n"),
    _then("s.socket(s.AF_INET, s.SOCK_RAW, 1)", "open a raw socket",
          before="import socket as s\n"),
    _then("s.socket(s.AF_NETLINK, s.SOCK_RAW, 0)", "ask for the networks by netlink",
          before="import socket as s\n"),
    _then("s.socket(40, s.SOCK_STREAM)", "reach a virtual machine's host by vsock",
          before="import socket as s\n"),
    _then("s.socket(s.AF_UNIX).connect('{unix}')", "connect to a Unix socket outside",
          before="import socket as s\n"),
    _then("s.socket(s.AF_UNIX).connect('\\0{abstract}')", "connect to an abstract socket",
          before="import socket as s\n"),
    _then("s.gethostbyname('localhost.example')", "look a name up", before="import socket as s\n"),
)  # fmt: skip

_FORKS = """
import os, time
count = 0
try:
    for _ in range(60):
        if os.fork() == 0:
            time.sleep(20); os._exit(0)
        count += 1
except OSError: pass
if count > 40: print('ESCAPED')
"""
_THREADS = """
import threading, time
count = 0
try:
    for _ in range(60):
        threading.Thread(target=time.sleep, args=(3,), daemon=True).start(); count += 1
except RuntimeError: pass
if count > 40: print('ESCAPED')
"""
_DISK = """
count = 0
try:
    for one in range(12):
        with open(f'big{one}', 'wb') as f: f.write(bytes(4_000_000))
        count += 1
except OSError: pass
if count > 8: print('ESCAPED')
"""
_INODES = """
count = 0
try:
    for one in range(21_000):
        open(f'n{one}', 'w').close(); count += 1
except OSError: pass
if count > 20_000: print('ESCAPED')
"""

RESOURCES = (
    Escape("fork many processes", _FORKS),
    Escape("start many threads", _THREADS),
    _then("len(bytearray(600_000_000))", "use much memory"),
    _then("import mmap; mmap.mmap(-1, 600_000_000)", "map much memory"),
    _then("import os; os.memfd_create('x')", "keep data in nameless files of memory"),
    _then("assert c.shmget(0, 600_000_000, 0o1600) >= 0", "keep data in System V memory",
          before=_LIBC),
    _then("open('big', 'wb').truncate(90_000_000)", "make one large file"),
    Escape("fill the disk with files", _DISK, ("landlock",)),
    Escape("make many empty files", _INODES, ("landlock",)),
    _then("[open('/dev/null') for _ in range(400)]", "open many files"),
    _then("import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))",
          "raise its own limits"),
)  # fmt: skip

# Resource attempts use up what others need, so each of them runs alone.
GROUPS = (FILES, PROCESSES, PRIVILEGES, NETWORK, *((one,) for one in RESOURCES))

_EACH = """
import os
for name, code in {attempts!r}:
    pid = os.fork()
    if pid == 0:
        told = ('ESCAPED ' + name + chr(10)).encode()
        try: exec(code, dict(print=lambda said: os.write(1, told)))
        except BaseException: pass
        os._exit(0)
    os.waitpid(pid, 0)
print('all tried')
"""


def write_attempts(escapes: tuple[Escape, ...], outside: dict[str, object]) -> str:
    """Return code that makes some attempts, each in a process of its own.

    Args:
      escapes: the attempts.
      outside: what the names in braces stand for.
    """
    attempts: list[tuple[str, str]] = []
    for escape in escapes:
        code = escape.code
        for name, value in outside.items():
            code = code.replace("{" + name + "}", str(value))
        attempts.append((escape.name, code))
    return _EACH.replace("{attempts!r}", repr(attempts))

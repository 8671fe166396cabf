"""Guard of one command: starts it, and ends it together with every process that it started.

`guarded_process` runs it as a script; it imports nothing of this package. On Linux orphans of the
command become children of the guard, so it finds daemons too; elsewhere it only finds the process
group. If the command kills its guard, `guarded_process` finds processes by a mark in their
environment.
"""

import contextlib
import ctypes
import errno as errors
import json
import os
import resource
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# A command may send its guard any signal; those that can be ignored do not end it. Its children get
# the default again, since what is ignored stays so in a new program.
_IGNORED = tuple(
    signal.valid_signals()
    - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT, *_ENDING}
)
# What the kernel cannot end within this time, such as a process that waits for a dead disk, stays.
_LONGEST_END = 10.0
_PAUSE = 0.005


def _set_process_option(option: int, value: int) -> None:
    """Set an option of this process by prctl, on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _set_limits(wanted: dict[str, int]) -> None:
    """Set resource limits by name; a system that lacks one goes without it."""
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))


def _start_command(words: list[str], limits: dict[str, int]) -> tuple[int, int]:
    """Start the command; return its process id, and the errno if it cannot be started, else 0."""
    failure, told = os.pipe()  # closed by a successful exec
    no_memory = str(errors.ENOMEM).encode()  # made now: the bound may leave no room for it
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            _set_process_option(_PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in (signal.SIGCHLD, *_IGNORED, *_ENDING):
                signal.signal(number, signal.SIG_DFL)
            _set_limits(limits)
            os.execvp(words[0], words)
        except OSError as error:
            os.write(told, str(error.errno or errors.EIO).encode())
        except (ValueError, OverflowError):  # an invalid limit
            os.write(told, str(errors.EINVAL).encode())
        except MemoryError:
            os.write(told, no_memory)
            os.kill(os.getpid(), signal.SIGKILL)  # even leaving in order needs memory
        sys.exit(127)
    os.close(told)
    _let_go_of_streams()
    errno = os.read(failure, 32)
    os.close(failure)
    return pid, int(errno or 0)


def _let_go_of_streams() -> None:
    """Close the guard's copies of the command's input and output."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _reap_children(pid: int) -> tuple[bool, int | None]:
    """Collect the children that have ended.

    Returns:
      Whether no children are left, and the command's exit status if it has ended.
    """
    status = None
    while True:
        try:
            ended, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True, status
        if ended == 0:
            return False, status
        if ended == pid:
            status = os.waitstatus_to_exitcode(code)


def _wait_for_end(pid: int, control: int, woken: int) -> int | None:
    """Wait until the command ends, or until the control line closes or a signal asks for the end.

    Returns:
      The command's exit status; None if it still runs.
    """
    while True:
        ready = select.select([control, woken], [], [])[0]
        if woken in ready:
            signals = os.read(woken, 4096)
            status = _reap_children(pid)[1]
            if status is not None or any(number in _ENDING for number in signals):
                return status
        if control in ready:
            return None


def _list_descendants() -> list[int]:
    """Return the ids of all processes below this one, from Linux's /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
                with open(f"/proc/{name}/stat", "rb") as stat:
                    parent = int(stat.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    left = [os.getpid()]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def _end_all(pid: int, status: int | None) -> int | None:
    """End the command and everything it started; return its exit status."""
    until = time.monotonic() + _LONGEST_END
    while True:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # no /proc
                for one in _list_descendants():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(one, signal.SIGKILL)
        is_over, found = _reap_children(pid)
        status = found if found is not None else status
        if is_over or time.monotonic() > until:
            return status
        time.sleep(_PAUSE)


def _ignore_signal(number: int, frame: object) -> None:
    """Do nothing: the number of the signal comes through the wakeup pipe."""


def _send_message(control: int, news: dict[str, int | None]) -> None:
    with contextlib.suppress(OSError):  # the parent has ended
        os.write(control, json.dumps(news).encode() + b"\n")


def _main(control: int, limits: dict[str, int], words: list[str]) -> None:
    os.set_inheritable(control, False)
    _set_process_option(_PR_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_ENDING):
        signal.signal(number, _ignore_signal)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    pid, errno = _start_command(words, limits)
    _send_message(control, {"pid": pid})
    status = None if errno else _wait_for_end(pid, control, woken)
    status = _end_all(pid, status)
    _send_message(control, {"errno": errno, "status": status})


if __name__ == "__main__":
    _main(int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:])

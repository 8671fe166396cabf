"""First process of a code executor's container: it gets code and files, runs the code, and sends
what that printed and which files it made.

Its text is given to the container's own Python (3.8 or newer), so it imports nothing of this
package. Input is one line of JSON; when the input ends, so does the container.
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from base64 import b64decode
from typing import IO, Any

_PIECE = 65536
_send_lock = threading.Lock()
# Refuses system calls, then becomes the program behind; some machines and images have no filter.
_FILTER = """
import os, runpy, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, which a filter needs
    runpy.run_path(sys.argv[1])["filter_calls"](is_shared=False)
except Exception:
    pass
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def _send(kind: bytes, data: bytes) -> None:
    """Write a frame: its kind, the length of its data, and the data."""
    view = memoryview(kind + len(data).to_bytes(4, "big") + data)
    with _send_lock:
        while view:
            view = view[os.write(1, view) :]


def _pump(stream: IO[bytes], kind: bytes) -> None:
    while True:
        piece = os.read(stream.fileno(), _PIECE)
        if not piece:
            return
        _send(kind, piece)


def _feed(stream: IO[bytes], data: bytes) -> None:
    try:
        stream.write(data)
        stream.close()
    except OSError:
        return  # the code ended before it was read


def _wait(child: subprocess.Popen[bytes], seconds: float | None) -> int:
    """Wait for the code to end and return its status; end it if it takes too long.

    Raises:
      EOFError: the input has ended, so no caller waits for an answer.
    """
    end = None if seconds is None else time.monotonic() + seconds
    pause = 0.001
    while child.poll() is None:
        if select.select([0], [], [], pause)[0] and not os.read(0, _PIECE):
            raise EOFError("the input has ended")
        if end is not None and time.monotonic() > end:
            child.kill()
        pause = min(2 * pause, 0.05)
    return child.wait()


def _list_files(work: str) -> dict[str, tuple[int, int]]:
    """Return the marks of all plain files below a folder, by their names in it."""
    found: dict[str, tuple[int, int]] = {}
    for parent, folders, names in os.walk(work):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                found[os.path.relpath(path, work)] = (status.st_mtime_ns, status.st_size)
    return found


def _run_code(task: dict[str, Any], work: str) -> int:
    runner, confine = work + "-runner.py", work + "-confine.py"
    for name, text in ((runner, task["runner"]), (confine, task["confine"])):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    words = ["-I", "-X", "utf8", runner, "0", "0", str(task["file_bytes"] + 1)]
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", _FILTER, confine, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=work,
        bufsize=0,
    )
    assert child.stdin and child.stdout and child.stderr
    code = task["code"].encode("utf-8", "surrogatepass")
    threads = [
        threading.Thread(target=_feed, args=(child.stdin, code), daemon=True),
        threading.Thread(target=_pump, args=(child.stdout, b"o"), daemon=True),
        threading.Thread(target=_pump, args=(child.stderr, b"e"), daemon=True),
    ]
    for thread in threads:
        thread.start()
    status = _wait(child, task["seconds"])
    if os.getpid() == 1:
        try:
            os.kill(-1, signal.SIGKILL)  # all others of the container
        except OSError:
            pass  # there are none
    for thread in threads:
        thread.join(2)
    return status


def _send_files(work: str, known: dict[str, tuple[int, int]], task: dict[str, Any]) -> None:
    changed = [one for one in sorted(_list_files(work).items()) if known.get(one[0]) != one[1]]
    for name, _ in changed[: task["files_sent"]]:
        try:
            with open(os.path.join(work, name), "rb") as file:
                content = file.read(task["file_bytes"] + 1)
            _send(b"f", os.fsencode(name) + b"\0" + content)
        except (OSError, ValueError):
            continue  # the code made it unreadable


def main(arguments: list[str]) -> None:
    """Do the task of the first line of the input, in the folder that the arguments name."""
    task = json.loads(sys.stdin.buffer.readline())
    work = arguments[0]
    os.mkdir(work)
    for name, content in task["files"].items():
        path = os.path.join(work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b64decode(content))
    known = _list_files(work)
    status = _run_code(task, work)
    _send_files(work, known, task)
    _send(b"x", str(status).encode())


if __name__ == "__main__":
    main(sys.argv[1:])

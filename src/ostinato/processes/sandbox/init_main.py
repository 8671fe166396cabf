"""First process of a sandbox: makes its file system, runs the command, brings files back.

`Sandbox` runs it as a script, as process 1 of new namespaces that bubblewrap or it itself makes, or
beside all other processes where neither is possible. It imports nothing of this package.
"""

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import stat
import struct
import sys
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_NEW_NAMESPACES = 0x0002_0000 | 0x0400_0000 | 0x0800_0000 | 0x2000_0000 | 0x4000_0000
_NEW_USER, _NEW_CGROUP = 0x1000_0000, 0x0200_0000
_BIND, _RECURSIVE, _PRIVATE, _NOSUID, _NODEV = 0x1000, 0x4000, 0x4_0000, 0x2, 0x4
_DETACH = 2
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_ATTRIBUTE_READ_ONLY, _ATTRIBUTE_NOSUID, _ATTRIBUTE_NODEV = 0x1, 0x2, 0x4
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_PLACE = "/sandbox"  # where the command's own files lie
_INODES = 20_000
_MAX_DEPTH = 66  # of folders that are brought back
_NOBODY = 65_534


def enter_namespaces() -> None:
    """Continue as process 1 of new namespaces; this process waits for it and ends like it."""
    uid, gid = os.getuid(), os.getgid()
    flags = _NEW_NAMESPACES | _NEW_CGROUP | (0 if uid == 0 else _NEW_USER)
    _check(_LIBC.unshare(flags), "namespaces")
    if uid != 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    pid = os.fork()
    if pid:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.exit(status if status >= 0 else 128 - status)
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def build_root(root: str, exchange: str, visible: list[str], links: dict[str, str]) -> None:
    """Make the file system that the command sees, and enter it.

    Args:
      root: an empty folder to mount it at.
      exchange: folder that appears as `_PLACE`.
      visible: files and folders that appear under their own paths, read-only.
      links: symbolic links by path.
    """
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "size=1m,mode=755")
    os.mkdir(root + _PLACE)
    _mount(exchange, root + _PLACE, "", _BIND)
    for path in visible:
        target = root + path
        if os.path.isdir(path):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
        _mount(path, target, "", _BIND | _RECURSIVE)
        device = _ATTRIBUTE_NODEV if not path.startswith("/dev/") else 0
        _set_attributes(target, _ATTRIBUTE_READ_ONLY | _ATTRIBUTE_NOSUID | device, recursive=True)
    for path, target in links.items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        os.symlink(target, root + path)
    os.chdir(root)
    _check(_LIBC.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    _check(_LIBC.umount2(b".", _DETACH), "umount")
    os.chdir("/")


def mount_place(size: int) -> None:
    """Cover the exchanged folder with a bounded file system of memory."""
    _mount("tmpfs", _PLACE, "tmpfs", _NOSUID | _NODEV, f"size={size},nr_inodes={_INODES},mode=755")
    # Under bubblewrap the root is read-only already, and may not be changed.
    with contextlib.suppress(OSError):
        _set_attributes("/", _ATTRIBUTE_READ_ONLY, recursive=False)


class Target:
    """A folder to copy to, which is made when its first file is: thousands can be empty.

    Args:
      descriptor: the open folder; None if it has to be made.
      name: its name in `parent`.
      parent: the folder that it lies in.
      uid: the user that it belongs to, if it is not this process's.
    """

    def __init__(
        self,
        descriptor: int | None,
        name: str = "",
        parent: "Target | None" = None,
        uid: int | None = None,
    ) -> None:
        self._descriptor, self._name, self._parent, self._uid = descriptor, name, parent, uid

    def open(self) -> int:
        """Return the folder's descriptor."""
        if self._descriptor is None:
            assert self._parent is not None  # only the topmost has none, and it is open
            parent = self._parent.open()
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._name, 0o700, dir_fd=parent)
            if self._uid is not None:
                os.chown(self._name, self._uid, self._uid, dir_fd=parent)
            flags = os.O_RDONLY | os.O_NOFOLLOW
            self._descriptor = os.open(self._name, flags, dir_fd=parent)
        return self._descriptor

    def close(self) -> None:
        """Close the folder, if it was opened."""
        if self._descriptor is not None:
            os.close(self._descriptor)


class Files:
    """Files that come from the exchanged folder, and go back there when they have changed."""

    def __init__(self, outside: int, inside: str) -> None:
        self._outside, self._inside = outside, inside
        self._known: dict[tuple[str, ...], tuple[int, int]] = {}

    def bring_in(self, uid: int) -> None:
        """Copy all files in, for a user."""
        source = os.open(self._inside, os.O_RDONLY)
        self._copy(self._outside, Target(source), (), uid)
        os.close(source)

    def bring_back(self) -> None:
        """Copy new and changed regular files out; no process writes them any more."""
        source = os.open(self._inside, os.O_RDONLY)
        self._copy(source, Target(self._outside), (), None)
        os.close(source)

    def _copy(self, source: int, target: Target, above: tuple[str, ...], uid: int | None) -> None:
        with os.scandir(source) as entries:
            found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        for name, status in found:
            place = (*above, name)
            if stat.S_ISDIR(status.st_mode) and len(place) < _MAX_DEPTH:
                self._copy_folder(source, target, place, uid)
            elif stat.S_ISDIR(status.st_mode):
                target.open()  # so that the reader sees that it is too deep
            elif stat.S_ISREG(status.st_mode):
                mark = status.st_mtime_ns, status.st_size
                if uid is not None:
                    self._known[place] = mark
                elif self._known.get(place) == mark:
                    continue
                _copy_file(source, target.open(), name, status, uid)

    def _copy_folder(
        self, source: int, target: Target, place: tuple[str, ...], uid: int | None
    ) -> None:
        name = place[-1]
        if uid is None:  # the command may have locked its folders
            os.chmod(name, stat.S_IRWXU, dir_fd=source)
        inner = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=source)
        outer = Target(None, name, target, uid)
        self._copy(inner, outer, place, uid)
        os.close(inner)
        outer.close()


def _copy_file(
    source: int, target: int, name: str, status: os.stat_result, uid: int | None
) -> None:
    """Copy a file with its time, from folder to folder."""
    if uid is None:
        os.chmod(name, stat.S_IRUSR | stat.S_IWUSR, dir_fd=source)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with (
        open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=source), "rb") as reader,
        open(os.open(name, flags, 0o600, dir_fd=target), "wb") as writer,
    ):
        if uid is None:
            _copy_data(reader.fileno(), writer.fileno(), status.st_size)
        else:
            shutil.copyfileobj(reader, writer)
    if uid is not None:
        os.chown(name, uid, uid, dir_fd=target)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=target)


def _copy_data(source: int, target: int, size: int) -> None:
    """Copy what a file holds but not its holes: these take no memory here, nor disk outside."""
    end = 0
    while end < size:
        try:
            start = os.lseek(source, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            break  # no data is left
        end = os.lseek(source, start, os.SEEK_HOLE)
        os.lseek(target, start, os.SEEK_SET)
        while start < end:
            start += os.sendfile(target, source, start, end - start)
    os.ftruncate(target, size)


def run_command(wanted: dict[str, Any], uid: int | None) -> dict[str, Any]:
    """Run the command to its end, and end in these namespaces what it leaves running.

    Returns:
      The report: `holds` and `status`, or `error`.
    """
    told, telling = os.pipe()
    confinement = {**wanted["confinement"], "report": telling, "uid": uid}
    words = [sys.executable, "-I", "-S", wanted["confine"], json.dumps(confinement)]
    pid = os.fork()
    if pid == 0:
        os.close(told)
        os.set_inheritable(telling, True)
        os.chdir(wanted["cwd"])
        os.execve(words[0], [*words, *wanted["words"]], wanted["environment"])
    os.close(telling)
    _close_streams()
    with open(told, "rb") as reader:
        lines = reader.read().splitlines()
    report: dict[str, Any] = {}
    for line in lines:
        report |= json.loads(line)
    while True:
        ended, status = os.wait()
        if ended == pid:
            break
    if os.getpid() == 1:
        _end_all()
    if not report:
        report = {"error": "the confinement of the command did not start"}
    return {**report, "status": os.waitstatus_to_exitcode(status)}


def _end_all() -> None:
    """End every other process of the namespace; only process 1 may call this."""
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _close_streams() -> None:
    """Close this process's copies of the command's input and output."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    arguments = [text.encode() for text in (source, target, kind, options)]
    place, target_bytes, kind_bytes, data = arguments
    done = _LIBC.mount(place, target_bytes, kind_bytes, ctypes.c_ulong(flags), data)
    _check(done, f"mount of {target}")


def _set_attributes(target: str, attributes: int, *, recursive: bool) -> None:
    described = struct.pack("4Q", attributes, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    done = _LIBC.syscall(_MOUNT_SETATTR, _AT_FDCWD, target.encode(), flags, described, 32)
    _check(done, f"mount_setattr of {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _make_folders(base: str, names: list[str], uid: int) -> int:
    """Make the command's folders for a user; return the user that they belong to."""
    for name in names:
        path = f"{base}/{name}"
        os.makedirs(path, mode=0o700, exist_ok=True)
        try:
            os.chown(path, uid, uid)
        except OSError:  # a user that this container does not know
            uid = _NOBODY
            os.chown(path, uid, uid)
    return uid


def main(wanted: dict[str, Any]) -> None:
    """Run one command in a sandbox.

    Args:
      wanted: `mechanism`, `exchange` (folder with `work`, for the report), `root`, `visible`,
        `links`, `uid`, `disk_bytes`, `confine`, `confinement`, `cwd`, `environment`, `words`.
    """
    mechanism, names = wanted["mechanism"], ["work", "home", "tmp"]
    is_wrapped = mechanism == "bubblewrap"
    exchange = os.open(_PLACE if is_wrapped else wanted["exchange"], os.O_RDONLY)
    try:
        if mechanism == "namespaces":
            enter_namespaces()
            build_root(wanted["root"], wanted["exchange"], wanted["visible"], wanted["links"])
        _LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        is_shared = mechanism == "landlock"
        base = wanted["exchange"] if is_shared else _PLACE
        if not is_shared:
            mount_place(wanted["disk_bytes"])
        uid = _make_folders(base, names, wanted["uid"] if os.getuid() == 0 else os.getuid())
        files = None
        if not is_shared:
            files = Files(os.open("work", os.O_RDONLY, dir_fd=exchange), f"{_PLACE}/work")
            files.bring_in(uid)
        report = run_command(wanted, uid if os.getuid() == 0 else None)
        if files is not None and report["status"] == 0:
            files.bring_back()
    except OSError as error:
        report = {"error": error.strerror or str(error)}
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with open(os.open("report.json", flags, 0o600, dir_fd=exchange), "w") as file:
        json.dump(report, file)
    sys.exit(0 if report.get("status") == 0 else 1)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

"""Runs code in the child process of the local executor: bounds itself, reads the code, runs it.

Started as a script by `_child.py`; it imports nothing of this package.
"""

from __future__ import annotations

import linecache
import sys
import traceback
from types import ModuleType, TracebackType

if sys.platform != "win32":
    import resource

_NAME = "<code>"


def _set_limits(cpu_seconds: int, memory_bytes: int, file_bytes: int) -> None:
    """Set this process's bounds, 0 for none; systems that lack one go without it."""
    if sys.platform == "win32":
        return
    wanted = [(resource.RLIMIT_CORE, 0)]
    wanted += [(resource.RLIMIT_CPU, cpu_seconds)] if cpu_seconds else []
    wanted += [(resource.RLIMIT_AS, memory_bytes)] if memory_bytes else []
    wanted += [(resource.RLIMIT_FSIZE, file_bytes)] if file_bytes else []
    for kind, value in wanted:
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            continue


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback without the frames of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def _run_source(source: str) -> None:
    """Run the source as the module `__main__`."""
    # Tracebacks find the text of the failing lines here.
    linecache.cache[_NAME] = (len(source), None, source.splitlines(keepends=True), _NAME)
    sys.excepthook = _print_traceback
    main = sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(source, _NAME, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    _set_limits(*map(int, sys.argv[1:4]))
    del sys.argv[1:]
    _run_source(sys.stdin.buffer.read().decode("utf-8", "surrogatepass"))

"""Speed is not bought with the user's interpreter: importing and running leave the collector's
settings, the switch interval, hooks, handlers and the like as they were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, gc, locale, logging, os, signal, sys, threading, warnings

def settings():
    loop = asyncio.get_running_loop()
    return {
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_freeze_count()),
        "collector's callbacks": len(gc.callbacks),
        "switch interval": sys.getswitchinterval(),
        "recursion limit": sys.getrecursionlimit(),
        "stack size": threading.stack_size(),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "digits": sys.get_int_max_str_digits(),
        "signals": [signal.getsignal(one) for one in signal.valid_signals()],
        "loop's policy": type(asyncio.get_event_loop_policy()),
        "loop": (loop.get_task_factory(), loop.get_exception_handler(), loop.get_debug()),
        "async generators": sys.get_asyncgen_hooks(),
        "logging": (logging.root.level, list(logging.root.handlers), logging.root.manager.disable),
        "warnings": list(warnings.filters),
        "locale": locale.setlocale(locale.LC_ALL),
        "environment": dict(os.environ),
        "mask": os.umask(os.umask(0o022)),
        "folder": os.getcwd(),
    }

async def main():
    before = settings()
    from tests.perf.kit import Bench, QuickModel
    from ostinato.sessions import InMemorySessionService
    from ostinato.sessions.sqlite_session_service import SqliteSessionService

    for service in (InMemorySessionService(), SqliteSessionService(sys.argv[1])):
        bench = Bench(service, QuickModel(model="quick"))
        await bench.open("one")
        await bench.turn("one")
        await bench.turn("one", stream=True)
    await service.close()
    after = settings()
    for name in before:
        if before[name] != after[name]:
            print(f"{name}: {before[name]} became {after[name]}")

os.umask(0o022)
asyncio.run(main())
"""


def test_nothing_of_the_interpreter_is_changed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "sessions.db")]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)

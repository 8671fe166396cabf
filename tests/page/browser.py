"""What the tests of the page need besides Python: a built page, Node's modules, Chromium."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILT = ROOT / "src" / "ostinato" / "server" / "page"
SHOTS = ROOT / ".ostinato" / "shots"
SCENARIOS = sorted(path.stem for path in (HERE / "scenarios").glob("*.mjs"))

_BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_LONGEST = 500  # seconds that one scenario may take


def chromium() -> str:
    """Return the browser's path."""
    for name in _BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise FileNotFoundError("No Chromium is installed: `apt-get install chromium`.")


def modules() -> None:
    """Install playwright-core, once; again when its lock changes."""
    lock = HERE / "package-lock.json"
    stamp = HERE / "node_modules" / "installed.txt"
    with open(ROOT / ".venv" / "page-modules.lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # tests run in several processes
        if stamp.exists() and stamp.read_bytes() == lock.read_bytes():
            return
        subprocess.run(["npm", "ci", "--silent", "--prefix", str(HERE)], check=True, cwd=HERE)
        stamp.write_bytes(lock.read_bytes())


def play(scenario: str, **more: str) -> str:
    """Run a scenario and return what it printed.

    Raises:
      AssertionError: it failed; the message is what it printed.
    """
    SHOTS.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        **more,
        "OSTINATO_TEST_PYTHON": sys.executable,
        "OSTINATO_TEST_CHROMIUM": chromium(),
        "OSTINATO_TEST_SHOTS": str(SHOTS),
    }
    process = subprocess.Popen(
        ["node", str(HERE / "scenarios" / f"{scenario}.mjs")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the server and the browser with it
        printed, _ = process.communicate()
        printed += f"\n{scenario} took longer than {_LONGEST} s."
    assert process.returncode == 0, printed
    return printed

"""Makes the environments of the peers under .venvs, each once, and again when its pins change:
`python -m tests.peers.environments` for all; the fixtures call `set_up`."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import venv
from pathlib import Path

from tests.support.certificates import outside

ROOT = Path(__file__).resolve().parents[2] / ".venvs"

# Folder -> what is installed in it.
PINS = {
    "llama": ("gguf==0.19.0", "numpy==2.4.6", "xllamacpp==2026.10.11549"),
    "aimock": ("@copilotkit/aimock@1.43.0",),
}


def set_up(peer: str) -> Path:
    """Install a peer unless it is there already, and return its folder."""
    folder = ROOT / peer
    folder.mkdir(parents=True, exist_ok=True)
    stamp, wanted = ROOT / f"{peer}.installed.txt", "\n".join(PINS[peer])
    with open(ROOT / f"{peer}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not (stamp.exists() and stamp.read_text() == wanted):
            {"llama": _install_from_pip, "aimock": _install_from_npm}[peer](folder)
            stamp.write_text(wanted)
    return folder


def _install_from_pip(folder: Path) -> None:
    venv.create(folder, clear=True, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    target = ["--python", str(folder / "bin" / "python")]
    subprocess.run([*pip, *target, "install", "-q", *PINS[folder.name]], check=True, env=outside())


def _install_from_npm(folder: Path) -> None:
    quiet = ["--loglevel=error", "--no-audit", "--no-fund", "--no-package-lock"]
    npm = ["npm", "install", *quiet, "--prefix", str(folder)]
    subprocess.run([*npm, *PINS[folder.name]], check=True, env=outside())


if __name__ == "__main__":
    for name in PINS:
        print(f"{name}: {set_up(name)}")

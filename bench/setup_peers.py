"""Makes one environment per peer under .venvs: `setup_peers.py adk` or `setup_peers.py all`. A peer
whose interpreter is named in BENCH_PY_<PEER> is left alone; a finished one is not made again."""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(os.environ.get("PEER_ROOT", Path(__file__).resolve().parents[1] / ".venvs"))

# Folder -> what is installed in it: the versions that the figures of the README are about.
REQUIREMENTS = {
    "adk": ["google-adk==2.13.0", "sqlalchemy[asyncio]>=2", "aiosqlite"],
    "openai-agents": ["openai-agents==0.24.0"],
    "pydantic-ai": ["pydantic-ai-slim==2.68.0"],
    "langgraph": ["langgraph==1.2.22", "langchain==1.4.7", "langgraph-checkpoint-sqlite"],
    "strands": ["strands-agents==1.62.0"],
}


def set_up(peer: str) -> None:
    """Install one peer, unless it is there already."""
    variable = "BENCH_PY_" + peer.upper().replace("-", "_")
    if os.environ.get(variable):
        print(f"{peer}: {variable} is set")
        return
    folder, wanted = ROOT / peer, "\n".join(REQUIREMENTS[peer])
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"{peer}: installing {', '.join(REQUIREMENTS[peer])} ...", flush=True)
    venv.create(folder, clear=True, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    target = ["--python", str(folder / "bin" / "python")]
    subprocess.run([*pip, *target, "install", "-q", *REQUIREMENTS[peer]], check=True)
    stamp.write_text(wanted)


if __name__ == "__main__":
    asked = sys.argv[1:] or ["adk"]
    for name in REQUIREMENTS if asked == ["all"] else asked:
        set_up(name)

"""Makes one environment per peer under .venvs: `setup_peers.py adk`, or `all` for the benchmark's.
A peer whose interpreter is named in BENCH_PY_<PEER> is left alone; a finished one is not made
again. `setup_peers.py --python adk` prints the interpreter. The golden traces use adk23 and adk."""

import os
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(os.environ.get("PEER_ROOT", Path(__file__).resolve().parents[1] / ".venvs"))

_OTLP = ["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"]
_SQL = ["sqlalchemy[asyncio]>=2", "aiosqlite", "asyncpg", "aiomysql"]

# Folder -> what is installed in it: the versions that the figures and the golden traces are about.
REQUIREMENTS = {
    "adk23": ["google-adk==2.3.0", *_SQL],
    "adk": ["google-adk==2.13.0", *_SQL],
    # The same with an exporter of traces, for the rows that switch everything on.
    "everything-adk": ["google-adk==2.13.0", *_OTLP],
    "everything-ours": ["-e", str(Path(__file__).resolve().parents[1]), *_OTLP],
    "openai-agents": ["openai-agents==0.24.0"],
    "pydantic-ai": ["pydantic-ai-slim[openai]==2.68.0"],
    "langgraph": ["langgraph==1.2.22", "langchain==1.4.7", "langgraph-checkpoint-sqlite"],
    "strands": ["strands-agents==1.62.0"],
}


NOT_MEASURED = {"adk23"}


def interpreter(peer: str) -> str:
    """The peer's Python: BENCH_PY_<PEER>, else the one under .venvs."""
    named = os.environ.get("BENCH_PY_" + peer.upper().replace("-", "_"))
    return named or str(ROOT / peer / "bin" / "python")


def set_up(peer: str) -> None:
    """Install one peer, unless it is there already."""
    if interpreter(peer) != str(ROOT / peer / "bin" / "python"):
        return
    folder, wanted = ROOT / peer, "\n".join(REQUIREMENTS[peer])
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"{peer}: installing {', '.join(REQUIREMENTS[peer])} ...", flush=True)
    venv.create(folder, clear=True, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    target = ["--python", interpreter(peer)]
    subprocess.run([*pip, *target, "install", "-q", *REQUIREMENTS[peer]], check=True)
    stamp.write_text(wanted)


if __name__ == "__main__":
    asked = sys.argv[1:] or ["adk"]
    if asked[0] == "--python":
        print(interpreter(asked[1]))
        sys.exit()
    names = REQUIREMENTS.keys() - NOT_MEASURED if asked == ["all"] else asked
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(set_up, names))

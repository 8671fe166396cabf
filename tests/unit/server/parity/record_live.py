"""Record how google-adk's own server holds live conversations, and with which codes it closes them:
run it with the interpreter of its environment.

    .venvs/adk/bin/python tests/unit/server/parity/record_live.py

It starts `adk api_server` over `live_agents` and writes `live.json` beside itself.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from live_steps import TALKS, converse  # noqa: E402
from record import ask, serving  # noqa: E402

PATIENCE = 2.0  # seconds


async def record(base: str) -> dict[str, Any]:
    """Hold all conversations, each in a new session."""
    port, found = int(base.rpartition(":")[2]), {}
    for name in TALKS:
        await asyncio.to_thread(ask, base, "POST", "/apps/speaker/users/ann/sessions/s", {})
        found[name] = await converse(name, port, PATIENCE)
        await asyncio.to_thread(ask, base, "DELETE", "/apps/speaker/users/ann/sessions/s", None)
    return found


def main() -> None:
    """Start the server, converse, write."""
    with serving(HERE / "live_agents") as base:
        talks = asyncio.run(record(base))
    found = {"google-adk": importlib.metadata.version("google-adk"), "talks": talks}
    (HERE / "live.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

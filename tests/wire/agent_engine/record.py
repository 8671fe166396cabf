"""Writes down what google-adk's own services for Agent Engine send to the fake engine, as data:

    python tests/wire/agent_engine/record.py            writes requests.json
    python tests/wire/agent_engine/record.py --check    compares with it

Run it with a Python that has google-adk 2.3.0 and google-cloud-aiplatform[agent-engines] below 2.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest import mock

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.wire.agent_engine.cases import CASES, PEER, Case  # noqa: E402
from tests.wire.agent_engine.engine import AgentEngine, served  # noqa: E402

REQUESTS = HERE / "requests.json"


PLACE: dict[str, str] = {}


def redirected(real: Any) -> Any:
    """Make the HTTP client of google-adk's SDK speak to the fake engine."""

    def request(self: Any, method: str, url: str, **how: Any) -> Any:
        there = str(url).replace("https://", "", 1).partition("/")
        PLACE["host"] = there[0]
        return real(self, method, f"{PLACE['url']}/{there[2]}", **how)

    return request


def without_login() -> Any:
    """Be where nobody is logged in: express mode needs its key only."""
    from google.auth.exceptions import DefaultCredentialsError

    return mock.patch("google.auth.default", side_effect=DefaultCredentialsError())


async def play(case: Case) -> dict[str, Any]:
    """Play a case with google-adk and return what it sent and gave back."""
    engine = AgentEngine(polls=1)
    async with served(engine) as url:
        PLACE["url"] = url
        try:
            with without_login() if "express" in case.__name__ else nullcontext():
                given = await case(PEER)
        except Exception as error:  # what it raises is what is recorded
            given = {"raised": type(error).__name__, "says": str(error)}
        mine = asyncio.current_task()  # google-adk ingests in tasks that nobody waits for
        others = [t for t in asyncio.all_tasks() if t is not mine and "ingest" in repr(t)]
        await asyncio.gather(*others, return_exceptions=True)
    requests: list[Any] = []
    for reads, several in groupby(engine.requests(), lambda one: one["method"] == "GET"):
        # google-adk reads a session and its events at once, in no order
        found = list(several)
        requests += sorted(found, key=json.dumps) if reads else found
    return {"host": PLACE.pop("host", None), "requests": requests, "given": given}


async def main() -> int:
    """Record every case, or compare with the record."""
    import aiohttp
    from google.oauth2.credentials import Credentials

    os.environ["GOOGLE_GENAI_USE_ENTERPRISE"] = "true"  # else it takes no key of express mode
    login = mock.patch("google.auth.default", return_value=(Credentials("token"), "proj"))
    real = asyncio.sleep
    session = aiohttp.ClientSession
    there = mock.patch.object(session, "request", redirected(session.request))
    with (
        login,
        there,
        mock.patch.object(time, "sleep"),
        mock.patch("asyncio.sleep", lambda s: real(0)),
    ):
        told = {name: await play(case) for name, case in CASES.items()}
    lines = (f"{json.dumps(name)}: {json.dumps(told[name], sort_keys=True)}" for name in told)
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if "--check" not in sys.argv:
        REQUESTS.write_text(text)
        return 0
    return int(text != REQUESTS.read_text())


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

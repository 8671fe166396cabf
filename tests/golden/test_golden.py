"""Replay every golden scenario on ostinato and compare with what google-adk did."""

import asyncio
import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.append(str(HERE.parent))  # behind the SDKs, whose names some test folders have

from golden.deviations import DEVIATIONS, Deviation  # noqa: E402
from golden.normalise import to_text  # noqa: E402
from golden.registry import load, play  # noqa: E402

TRACES = {path.stem: path for path in sorted((HERE / "traces").glob("*.json"))}
SCENARIOS = load()
_played: dict[str, dict[str, Any]] = {}


def recorded(name: str) -> dict[str, Any]:
    """What google-adk did."""
    trace = json.loads(TRACES[name].read_text(encoding="utf-8"))
    return {key: trace[key] for key in trace if key not in ("scenario", "google-adk")}


def expected(name: str, without: Deviation | None = None) -> dict[str, Any]:
    """What ostinato has to do: the recorded trace with the listed deviations."""
    trace = copy.deepcopy(recorded(name))
    for deviation in DEVIATIONS:
        if deviation.concerns(name) and deviation is not without:
            deviation.apply(trace)
    return trace


async def played(name: str) -> dict[str, Any]:
    """What ostinato does, played once per test run."""
    if name not in _played:
        async with asyncio.timeout(120):
            _played[name] = await play(SCENARIOS[name], "ostinato")
    return _played[name]


def test_every_scenario_has_a_trace() -> None:
    assert sorted(SCENARIOS) == sorted(TRACES)


def test_traces_name_their_release() -> None:
    for name, path in TRACES.items():
        trace = json.loads(path.read_text(encoding="utf-8"))
        assert (trace["scenario"], trace["google-adk"]) == (name, SCENARIOS[name].adk)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
async def test_replay(name: str) -> None:
    assert to_text(await played(name)) == to_text(expected(name))


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=str)
async def test_deviation_is_needed(deviation: Deviation) -> None:
    names = [name for name in SCENARIOS if deviation.concerns(name)]
    needed = [name for name in names if await played(name) != expected(name, without=deviation)]
    assert needed, "ostinato does here what google-adk does: remove the deviation"

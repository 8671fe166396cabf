"""What this package sends to Agent Engine and makes of the answers, beside what google-adk 2.3.0
does (requests.json, which record.py wrote).
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import InputValidationError
from tests.wire.agent_engine.cases import CASES, OPENED, OURS
from tests.wire.agent_engine.engine import AgentEngine
from tests.wire.agent_engine.fixtures import TOKEN

THEIRS: dict[str, Any] = json.loads((Path(__file__).parent / "requests.json").read_text())

# What is different on purpose, and why.
RAISES_SOONER = "a whole resource name is refused when the service is made"
DIFFERENT = {
    "append_partial": "google-adk stores partial events",
    "remember_nothing": "nothing is sent where there is nothing to remember",
    "remember_wrong_flush": "google-adk logs it in the background",
    "memory_of_full_name": RAISES_SOONER,
    "enter_with_metadata": "author and timestamp become labels of the revision",
    "enter_with_own_fields": "labels of the revision are sent, google-adk's SDK has none",
}


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """Closes the services that a case made."""
    yield
    while OPENED:
        await OPENED.pop().close()


RAISED = {
    name
    for name, told in THEIRS.items()
    if isinstance(told["given"], dict) and "raised" in told["given"]
}


@pytest.mark.parametrize("name", sorted(CASES.keys() - DIFFERENT - RAISED))
async def test_the_same_is_sent_and_made_of_the_answers(engine: AgentEngine, name: str) -> None:
    engine.polls = 1
    given = await CASES[name](OURS)
    theirs = _told(THEIRS[name]["requests"])
    ours = _told(engine.requests())
    assert [r for r in ours if r["method"] != "GET"] == [r for r in theirs if r["method"] != "GET"]
    assert [r for r in ours if r["method"] == "GET" and r not in theirs and not _is_ours(r)] == []
    assert _bare(given) == _bare(THEIRS[name]["given"])


@pytest.mark.parametrize("name", sorted(RAISED - DIFFERENT.keys()))
async def test_the_same_is_refused(engine: AgentEngine, name: str) -> None:
    theirs = THEIRS[name]["given"]
    with pytest.raises((ValueError, NotImplementedError)) as caught:
        await CASES[name](OURS)
    kinds = {kind.__name__ for kind in type(caught.value).__mro__}
    assert theirs["raised"] in {*kinds, "ValidationError"}
    if theirs["raised"] == "ValueError":
        assert str(caught.value).startswith(theirs["says"].rstrip("."))


@pytest.mark.parametrize("name", sorted(DIFFERENT))
async def test_what_is_different_still_is(engine: AgentEngine, name: str) -> None:
    try:
        await CASES[name](OURS)
    except InputValidationError:
        return
    theirs = _told(THEIRS[name]["requests"])
    assert [r for r in _told(engine.requests()) if r["method"] != "GET"] != [
        r for r in theirs if r["method"] != "GET"
    ]


def test_each_case_is_recorded() -> None:
    assert THEIRS.keys() == CASES.keys()


def _told(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Requests without what differs in form only."""
    text = json.dumps([_timed(request) for request in requests])
    return json.loads(text.replace(TOKEN, "token"))


_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)")


def _timed(value: Any) -> Any:
    """Times as seconds, so that any way of writing them is the same; no empty effects."""
    if isinstance(value, dict):
        return {
            key: _timed(one)
            for key, one in value.items()
            if one not in ({}, []) and (key, one) != ("nodeInfo", {"path": ""})
        }
    if isinstance(value, list):
        return [_timed(one) for one in value]
    if isinstance(value, str):
        return _TIME.sub(lambda m: f"{datetime.fromisoformat(m[0]).timestamp():.6f}", value)
    return value


def _is_ours(read: dict[str, Any]) -> bool:
    """A deletion is waited for, and the newest events are asked for as such."""
    return "/operations/" in read["path"] or read["query"].get("orderBy") == "timestamp desc"


# google-adk gives events new ids, keeps removed keys, and moves no session's time on.
_LEFT_OUT = frozenset(("id", "lastUpdateTime", "gone", "nodeInfo"))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        told = {key: _bare(one) for key, one in value.items() if key not in _LEFT_OUT}
        return {key: one for key, one in told.items() if one not in ({}, [], None)}
    return [_bare(one) for one in value] if isinstance(value, list) else value

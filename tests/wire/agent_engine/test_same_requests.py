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


@pytest.mark.parametrize("name", ["memory_of_full_name", "remember_wrong_flush"])
async def test_what_is_refused_here_is_refused_and_nothing_is_sent(
    engine: AgentEngine, name: str
) -> None:
    with pytest.raises(InputValidationError):
        await CASES[name](OURS)
    assert _writes(engine.requests()) == []


@pytest.mark.parametrize(
    ("name", "missing"), [("append_partial", ":appendEvent"), ("remember_nothing", ":ingestEvents")]
)
async def test_what_is_not_sent_here_is_all_that_is_missing(
    engine: AgentEngine, name: str, missing: str
) -> None:
    await CASES[name](OURS)
    theirs = _writes(THEIRS[name]["requests"])
    rest = [request for request in theirs if not request["path"].endswith(missing)]
    assert len(rest) == len(theirs) - 1
    assert _writes(engine.requests()) == rest


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("enter_with_metadata", {"author": "ann", "timestamp": "1735689600.000000"}),
        ("enter_with_own_fields", {"k": "v"}),
    ],
)
async def test_labels_of_a_revision_are_all_that_is_sent_besides(
    engine: AgentEngine, name: str, labels: dict[str, str]
) -> None:
    await CASES[name](OURS)
    first, *rest = _writes(engine.requests())
    assert first["json"].pop("revisionLabels") == labels
    assert [first, *rest] == _writes(THEIRS[name]["requests"])


def test_every_difference_has_a_test() -> None:
    assert {
        "append_partial",
        "remember_nothing",
        "remember_wrong_flush",
        "memory_of_full_name",
        "enter_with_metadata",
        "enter_with_own_fields",
    } == DIFFERENT.keys()


def _writes(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [request for request in _told(requests) if request["method"] != "GET"]


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

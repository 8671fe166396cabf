"""The list of sessions: details from their logs, filters, and the events that a search found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato.server import session_list
from ostinato.server.session_hits import find_hits
from ostinato.sessions.log.event_log import EventRecord
from tests.unit.server.conftest import Serve, Served
from tests.unit.server.parity.steps import say

BASE = "/apps/desk/users/ann/sessions"


async def talk(served: Served, session: str, *texts: str, user: str = "ann") -> None:
    """Create a session and send messages to it, until nothing runs there."""
    sessions = f"/apps/desk/users/{user}/sessions"
    await served.ask("POST", sessions, {"sessionId": session})
    for text in texts:
        await served.ask("POST", "/run", {**say(text, session), "userId": user})
    if texts:  # the session is released after the answer
        await served.ask("GET", f"{sessions}/{session}/events/stream?until=idle")


async def listed(served: Served, query: str) -> dict[str, dict[str, Any]]:
    """Return the sessions of a list by id."""
    answer = await served.ask("GET", f"/apps/desk/sessions?{query}")
    assert answer.status_code == 200, answer.text
    return {one["id"]: one for one in answer.json()["sessions"]}


async def test_details_tell_title_state_agents_tools_and_tokens(served: Served) -> None:
    await talk(served, "sum", "add", "thanks")
    await talk(served, "asks", "pay")
    await talk(served, "safe", "hello", "refused")
    await talk(served, "well", "refused", "hello")
    await talk(served, "new")
    found = await listed(served, "details=true")
    states = {name: one["state"] for name, one in found.items()}
    assert states == {
        "sum": "idle",
        "asks": "waiting",
        "safe": "failed",
        "well": "idle",
        "new": "idle",
    }
    one = found["sum"]
    assert one["firstMessage"] == "add"
    assert (one["agents"], one["tools"], one["eventCount"]) == (["desk"], ["add"], 6)
    # The responses name no model, so the tokens count as those of the agent's.
    assert one["usage"] == [{"model": "rules", "prompt": 9, "cached": 0, "output": 6}]
    assert found["asks"]["tools"] == ["pay"]
    assert found["well"]["errorCount"] == 1
    assert "firstMessage" not in found["new"]


async def test_a_plain_list_reads_no_log(served: Served) -> None:
    await talk(served, "sum", "add")
    assert set((await listed(served, ""))["sum"]) == {"id", "userId", "lastUpdateTime"}


async def test_details_count_what_is_new_once(served: Served) -> None:
    await talk(served, "sum", "hello")
    first = (await listed(served, "details=true"))["sum"]
    assert first == (await listed(served, "details=true"))["sum"]
    await served.ask("POST", "/run", say("again", "sum"))
    second = (await listed(served, "details=true"))["sum"]
    assert (first["eventCount"], second["eventCount"]) == (2, 4)
    assert second["usage"][0]["prompt"] == 2 * first["usage"][0]["prompt"]


async def test_a_session_made_again_under_its_name_starts_at_zero(served: Served) -> None:
    await talk(served, "sum", "hello", "hello")
    await listed(served, "details=true")
    await served.ask("DELETE", f"{BASE}/sum")
    await talk(served, "sum", "other")
    found = (await listed(served, "details=true"))["sum"]
    assert (found["firstMessage"], found["eventCount"]) == ("other", 2)


async def test_a_first_message_is_one_short_line(served: Served) -> None:
    await talk(served, "long", "a\n\n b " + "word " * 100)
    title = (await listed(served, "details=true"))["long"]["firstMessage"]
    assert title.startswith("a b word word") and title.endswith("…") and len(title) <= 120


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("agent=desk", {"sum", "asks", "safe"}),
        ("agent=nobody", set()),
        ("tool=add", {"sum"}),
        ("tool=ad", set()),
        ("state=waiting", {"asks"}),
        ("state=failed", {"safe"}),
        ("state=error", {"safe"}),
        ("state=idle", {"sum", "bobs"}),
        ("state=running", set()),
        ("since=99999999999", set()),
        ("until=1", set()),
        ("since=1&until=99999999999", {"sum", "asks", "safe", "bobs"}),
        ("search=add&tool=add", {"sum"}),
        ("search=hello&tool=add", set()),
        ("userId=bob&state=idle", {"bobs"}),
    ],
)
async def test_filters(served: Served, query: str, wanted: set[str]) -> None:
    await talk(served, "sum", "add")
    await talk(served, "asks", "pay")
    await talk(served, "safe", "refused")
    await served.ask("POST", "/apps/desk/users/bob/sessions", {"sessionId": "bobs"})
    assert set(await listed(served, query)) == wanted


async def test_filtered_pages_hold_each_session_once(served: Served) -> None:
    for number in range(7):
        await talk(served, f"s{number}", "add" if number % 2 else "hello")
    seen: list[str] = []
    token = ""
    for _ in range(9):
        query = f"tool=add&pageSize=2{token and f'&pageToken={token}'}"
        page = (await served.ask("GET", f"/apps/desk/sessions?{query}")).json()
        seen += [one["id"] for one in page["sessions"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert seen == ["s5", "s3", "s1"]


async def test_hits_point_to_the_events(served: Served) -> None:
    await talk(served, "sum", "add", "What about the Lisbon ferry?")
    found = (await listed(served, "search=lisbon&hits=2"))["sum"]["hits"]
    assert [(one["number"], one["author"], one["kind"]) for one in found] == [
        (6, "desk", "text"),
        (5, "user", "text"),
    ]
    one = found[1]
    assert one["snippet"][one["start"] : one["end"]] == "Lisbon"
    events = (await served.ask("GET", f"{BASE}/sum")).json()["events"]
    assert events[4]["id"] == one["eventId"]


@pytest.mark.parametrize("query", ["hits=11", "hits=-1", "state=odd", "since=nan", "since=-1"])
async def test_odd_queries_are_refused(served: Served, query: str) -> None:
    assert (await served.ask("GET", f"/apps/desk/sessions?{query}")).status_code == 422


async def test_what_takes_too_long_comes_with_the_next_list(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as served:
        await talk(served, "sum", "add")
        with monkeypatch.context() as patch:
            patch.setattr(session_list, "_SECONDS", -1.0)
            page = (await served.ask("GET", "/apps/desk/sessions?details=true")).json()
            assert page["undetailed"] == 1
            assert "firstMessage" not in page["sessions"][0]
        page = (await served.ask("GET", "/apps/desk/sessions?details=true")).json()
        assert (page["undetailed"], page["sessions"][0]["firstMessage"]) == (0, "add")


def record(data: str) -> EventRecord:
    return EventRecord.from_columns(
        id="e", invocation_id="i", author="desk", branch=None, timestamp=1.0, data=data
    )


@pytest.mark.parametrize(
    ("data", "text", "kind", "word"),
    [
        ('{"content":{"parts":[{"text":"A Straße\\nin Köln"}]}}', "köln", "text", "Köln"),
        ('{"content":{"parts":[{"text":"plan","thought":true}]}}', "plan", "thought", "plan"),
        (
            '{"content":{"parts":[{"functionCall":{"name":"f","args":{"to":["Ann"]}}}]}}',
            "ann",
            "call",
            "Ann",
        ),
        (
            '{"content":{"parts":[{"functionResponse":{"name":"f","response":{"n":42}}}]}}',
            "42",
            "result",
            "42",
        ),
        ('{"errorCode":"SAFETY","errorMessage":"not that"}', "safety", "error", "SAFETY"),
    ],
)
def test_hits_in_every_part_of_an_event(data: str, text: str, kind: str, word: str) -> None:
    [hit] = find_hits([record(data)], 7, text, 3)
    assert (hit.number, hit.kind, hit.snippet[hit.start : hit.end]) == (7, kind, word)


def test_hits_of_damaged_events_are_left_out() -> None:
    deep = '{"content":{"parts":[{"functionCall":{"name":"f","args":' + '{"a":' * 50
    deep += '"lost"' + "}" * 50 + "}}]}}"
    damaged = ('{"content":"lost', '{"content":"lost"}', '{"content":{"parts":["lost"]}}', deep)
    assert find_hits([record(one) for one in damaged], 1, "lost", 3) == []


def test_the_event_with_most_of_the_words_comes_first() -> None:
    texts = ("red boat", "red", "boat", "the red one")
    records = [record(json.dumps({"content": {"parts": [{"text": text}]}})) for text in texts]
    found = find_hits(records, 1, "red boat", 3)
    assert [hit.number for hit in found] == [1, 4, 3]

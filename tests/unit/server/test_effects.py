"""The effects ledger over HTTP: per session, and over all sessions of an app."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ostinato.sessions import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.sessions.store.durable_store import JournalRow
from ostinato.sessions.store.effect_row import encode_effect
from tests.unit.server.conftest import Served

PATH = "/apps/desk/users/ann/sessions/s/effects"


async def keep(served: Served, user: str, *calls: str) -> None:
    service: Any = served.host.services.sessions
    session: Session = await service.create_session(app_name="desk", user_id=user, session_id="s")
    rest = (1, "done", "", "", "FunctionTool")
    rows = [
        JournalRow(
            "e-1",
            one,
            "effect",
            "pay",
            encode_effect("pay", "desk", (one, "e-1"), (b"a" * 12, b"r" * 12), 5, rest),
        )
        for one in calls
    ]
    await service.append(session, [], rows)


async def test_effects_are_listed_in_pages(served: Served) -> None:
    await keep(served, "ann", "c1", "c2", "c3")
    await keep(served, "ben", "c4")
    found = (await served.ask("GET", PATH)).json()
    assert [one["callId"] for one in found["effects"]] == ["c3", "c2", "c1"]
    assert found["effects"][0]["tool"] == "pay"
    assert found["effects"][0]["outcome"] == "done"
    first = (await served.ask("GET", "/apps/desk/effects?page_size=3")).json()
    token = first["nextPageToken"]
    rest = (await served.ask("GET", f"/apps/desk/effects?page_token={token}")).json()
    both = [one["callId"] for page in (first, rest) for one in page["effects"]]
    assert sorted(both) == ["c1", "c2", "c3", "c4"]
    of_ben = (await served.ask("GET", "/apps/desk/effects?user_id=ben&tool=pay")).json()
    assert [one["sessionId"] for one in of_ben["effects"]] == ["s"]
    in_doubt = (await served.ask("GET", f"{PATH}?in_doubt=true")).json()
    assert in_doubt["effects"] == []


@pytest.mark.parametrize(
    "query",
    ["page_size=0", "page_token=1", "page_token=x-1-2", "since=-1", "since=nan", "toool=pay"],
)
async def test_a_wrong_query_is_refused(served: Served, query: str) -> None:
    assert (await served.ask("GET", f"{PATH}?{query}")).status_code == 422


async def test_a_store_without_a_ledger_says_so(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = replace(served.host.services, sessions=InMemorySessionService())
    monkeypatch.setattr(served.host, "services", services)
    answer = await served.ask("GET", PATH)
    assert answer.status_code == 501
    assert "effects ledger" in answer.text

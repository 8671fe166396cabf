"""Processes that share a PostgreSQL database: a run, several workers, and a run handed over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.databases import new_database
from tests.unit.server.test_processes import SESSIONS, Process, Start, start, status_of, until

__all__ = ["start"]  # the fixture

pytestmark = pytest.mark.service
MESSAGE = {"role": "user", "parts": [{"text": "go"}]}


@pytest.fixture
def database() -> Iterator[str]:
    with new_database("postgres") as url:
        yield url


def say(server: Process, session: str) -> list[str]:
    """Run a message; return the texts of its events."""
    body = {"appName": "slow", "userId": "ann", "sessionId": session, "newMessage": MESSAGE}
    events = server.ask("POST", "/run", body)
    return [part["text"] for event in events for part in event["content"]["parts"]]


def test_a_run_is_stored_and_another_process_goes_on_with_the_session(
    start: Start, database: str
) -> None:
    first, second = start("--db", database), start("--db", database)
    first.folder.joinpath("go").touch()
    first.ask("POST", SESSIONS, {"sessionId": "s"})
    assert say(first, "s") == ["done"]
    assert say(second, "s") == ["done"]
    assert [event["author"] for event in first.events()] == ["user", "root", "user", "root"]
    assert first.events() == second.events()
    found = first.ask("GET", "/apps/slow/sessions?search=s")
    assert [one["id"] for one in found["sessions"]] == ["s"]
    assert first.end() == 0
    assert status_of(second, "/health/ready") == 200


def test_several_workers_serve_one_database(start: Start, database: str) -> None:
    server = start("--db", database, "--workers", "2")
    server.folder.joinpath("go").touch()
    for number in range(6):
        server.ask("POST", SESSIONS, {"sessionId": f"s{number}"})
        assert say(server, f"s{number}") == ["done"]
    assert len(server.ask("GET", SESSIONS)) == 6
    assert server.end() == 0


def test_a_run_that_takes_longer_is_handed_over_to_a_process_that_is_there(
    start: Start, database: str
) -> None:
    first = start("--db", database, "--grace", "0")
    second = start("--db", database)  # it has not been asked for the app when the run is left
    until(lambda: status_of(second, "/health/ready") == 200)
    with first.begin():
        assert first.end() == 0
    first.folder.joinpath("go").touch()
    until(lambda: len(second.events()) == 2)
    assert second.events()[-1]["content"]["parts"] == [{"text": "done"}]
    assert second.ask("GET", f"{SESSIONS}/s/run")["state"] in ("idle", "running")
    until(lambda: second.ask("GET", f"{SESSIONS}/s/run")["state"] == "idle")

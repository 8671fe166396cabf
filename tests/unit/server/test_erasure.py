"""`DELETE /apps/{app}/users/{user}`: everything of a user goes, and the answer says how much."""

from __future__ import annotations

from tests.unit.server.conftest import Served


async def test_a_user_is_erased_and_the_others_stay(served: Served) -> None:
    for user in ("ann", "ben"):
        path = f"/apps/desk/users/{user}/sessions"
        await served.ask("POST", path, {"sessionId": "s", "state": {"user:name": user}})
    answer = await served.ask("DELETE", "/apps/desk/users/ann")
    assert answer.status_code == 200
    assert answer.json()["sessions"] == 1
    assert (await served.ask("GET", "/apps/desk/users/ann/sessions")).json() == []
    assert len((await served.ask("GET", "/apps/desk/users/ben/sessions")).json()) == 1
    again = await served.ask("DELETE", "/apps/desk/users/ann")
    assert (again.status_code, again.json()["sessions"]) == (200, 0)


async def test_a_name_that_may_not_be_one_is_refused(served: Served) -> None:
    assert (await served.ask("DELETE", "/apps/desk/users/%00")).status_code == 400

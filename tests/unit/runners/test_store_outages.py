"""A store that fails in the middle of a turn whose process lives on: the next message finds all
calls answered, in this process and in another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.durable.lease import keeper_of
from ostinato.errors import StoreError
from ostinato.models.llm_request import LlmRequest
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.testing import FunctionModel, call, final_text
from ostinato.tools import AgentTool
from tests.support.databases import SERVERS, new_database, run
from tests.unit.flows.kit import Talk, check_paired
from tests.unit.runners.owners import PLACE, Owner
from tests.unit.runners.owners import two_owners as two_owners

pytestmark = pytest.mark.long


async def pay() -> str:
    """Pay."""
    return "paid"


def note() -> str:
    """Note."""
    return "noted"


def strict(request: LlmRequest) -> Any:
    """Call tools, then answer; refuse a history with calls that nothing answers."""
    check_paired(request.contents)
    newest = request.contents[-1]
    if any(part.text == "next" for part in newest.parts or ()):
        return "To the next."
    if any(part.function_response for part in newest.parts or ()):
        return "Done."
    return [call("pay"), call("note"), call("inner", request="find")]


def talk_over(owner: Owner, *, resumable: bool = False) -> Talk:
    inner = LlmAgent(name="inner", model=FunctionModel(lambda _: "Found."))
    root = LlmAgent(name="root", model=FunctionModel(strict), tools=[pay, note, AgentTool(inner)])
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    return Talk(App(name="talk", root_agent=root, resumability_config=config), owner.store)


class Outage:
    """Lets a store's appends fail from the n-th on until it is back.

    Args:
      service: the store.
      at: the first append that fails.
      commits: whether that one is stored all the same, and only its answer is lost.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, service: Any, at: int, *, commits: bool
    ) -> None:
        self.is_away = False
        self._count, self._at, self._commits = 0, at, commits
        for name in ("append", "release", "hand_over", "leave_message", "renew", "lease"):
            monkeypatch.setattr(service, name, self._failing(name, getattr(service, name)))

    def _failing(self, name: str, method: Any) -> Any:
        async def act(*args: Any, **named: Any) -> Any:
            if name == "append":
                self._count += 1
                if self._count == self._at:
                    self.is_away = True
                    if self._commits:
                        await method(*args, **named)
            if self.is_away:
                raise StoreError("The store is away.")
            return await method(*args, **named)

        return act


async def fail(talk: Talk) -> bool:
    """Say something; return whether the store failed meanwhile."""
    try:
        await talk.say("first")
    except StoreError:
        return True
    return False


@pytest.mark.parametrize("two_owners", ["memory", "sqlite"], indirect=True)
@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("at", range(1, 10))
async def test_the_next_message_finds_every_call_answered(
    two_owners: list[Owner],
    monkeypatch: pytest.MonkeyPatch,
    at: int,
    commits: bool,
    resumable: bool,
) -> None:
    one, _ = two_owners
    talk = talk_over(one, resumable=resumable)
    outage = Outage(monkeypatch, one.service, at, commits=commits)
    failed = await fail(talk)
    assert failed == outage.is_away
    outage.is_away = False
    assert final_text(await talk.say("next")) == "To the next."
    await talk.check_sound()
    await one.service.flush()  # the release is committed behind the answer
    assert await one.service.open_leases() == []


@pytest.mark.parametrize("at", [1, 2, 4, 6])
async def test_another_process_gets_the_session_once_the_store_is_back(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Long before the lease would have ended."""
    one, two = two_owners
    talk = talk_over(one)
    outage = Outage(monkeypatch, one.service, at, commits=True)
    assert await fail(talk)
    keeper = keeper_of(one.service)
    await keeper.serve()  # it cannot tell the store yet, and keeps trying
    outage.is_away = False
    await keeper.serve()
    theirs = talk_over(two)
    assert final_text(await theirs.say("next")) == "To the next."
    await theirs.check_sound()


async def test_a_release_that_fails_is_made_up_for(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = two_owners
    talk = talk_over(one)
    outage = Outage(monkeypatch, one.service, 0, commits=False)
    async for event in talk.run("first"):
        outage.is_away = event.is_final_response()
    outage.is_away = False
    await keeper_of(one.service).serve()
    lease = await two.service.lease(PLACE)
    assert lease is not None and (lease.owner, lease.invocation_id) == ("", "")


async def test_an_invocation_that_can_never_be_stored_is_parked(
    two_owners: list[Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two_owners
    talk = talk_over(one)
    append = one.service.append

    async def refuse(session: Any, events: Any = (), *rest: Any, **named: Any) -> Any:
        if any(event.get_function_responses() for event in events):
            raise StoreError("Too large.")
        return await append(session, events, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(one.service, "append", refuse)
        for _ in range(3):
            assert await fail(talk)
    assert final_text(await talk.say("next")) == "To the next."
    await talk.check_sound()


_SQL = ["sqlite", *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS)]


@pytest.mark.parametrize("server", _SQL)
def test_a_session_is_given_back_before_the_event_loop_ends(server: str, tmp_path: Path) -> None:
    """A release that the loop takes along would hold up the next process until the lease ends."""

    def talk_and_look(url: str) -> Any:
        async def talk() -> None:
            owner = Owner(url)
            await talk_over(owner).say("next")

        async def look() -> Any:
            service = DatabaseSessionService(url)
            try:
                return await service.lease(PLACE)
            finally:
                await service.close()

        run(talk)
        return run(look)

    if server == "sqlite":
        lease = talk_and_look(f"sqlite+aiosqlite:///{tmp_path / 'shared.db'}")
    else:
        with new_database(server) as url:
            lease = talk_and_look(url)
    assert (lease.owner, lease.invocation_id) == ("", "")

"""Programs steer times and ids of all records, so that a run can be repeated exactly."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato import platform
from ostinato.agents import Agent
from ostinato.artifacts import FileArtifactService
from ostinato.errors import InputValidationError
from ostinato.events import Event
from ostinato.platform.thread import create_thread
from ostinato.platform.time import get_time, reset_time_provider, set_time_provider
from ostinato.platform.uuid import new_uuid, reset_id_provider, set_id_provider
from ostinato.runners import InMemoryRunner
from ostinato.testing import ScriptedModel, call
from ostinato.types import Part, UserContent


@pytest.fixture(autouse=True)
def fixture_reset() -> Iterator[None]:
    yield
    reset_time_provider()
    reset_id_provider()


def count() -> dict[str, int]:
    """Count something."""
    return {"n": 1}


async def run_once(artifacts: Path) -> tuple[Any, ...]:
    """A run with a tool call and an artifact, under counted times and ids."""
    ids, seconds = itertools.count(), itertools.count(100)
    set_id_provider(lambda: f"id{next(ids)}")
    set_time_provider(lambda: float(next(seconds)))
    model = ScriptedModel([call("count"), "one"])
    runner = InMemoryRunner(agent=Agent(name="a", model=model, tools=[count]), app_name="x")
    session = await runner.session_service.create_session(app_name="x", user_id="u")
    seen = [
        event.model_dump(mode="json")
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=UserContent("hi")
        )
    ]
    service = FileArtifactService(artifacts)
    of: Any = {"app_name": "x", "user_id": "u", "session_id": session.id, "filename": "f"}
    await service.save_artifact(**of, artifact=Part(text="t"))
    kept = await service.get_artifact_version(**of)
    assert kept is not None
    return session.id, session.last_update_time, seen, kept.create_time


async def test_a_run_can_be_repeated(tmp_path: Path) -> None:
    first = await run_once(tmp_path / "1")
    assert first == await run_once(tmp_path / "2")
    session_id, _, events, saved = first
    assert session_id.startswith("id") and 100 <= saved < 1000
    times = [event["timestamp"] for event in events]
    assert times == sorted(times) and all(100 <= moment < 1000 for moment in times)
    assert {event["invocation_id"][:4] for event in events} == {"e-id"}
    assert events[0]["content"]["parts"][0]["function_call"]["id"].startswith("adk-id")


def test_a_time_that_stands_still_is_given_as_it_is_and_keeps_the_order() -> None:
    set_time_provider(lambda: 5.0)
    assert [get_time(), get_time()] == [5.0, 5.0]
    one, two = Event(author="a"), Event(author="a")
    assert 5.0 == one.timestamp < two.timestamp < 5.0001
    reset_time_provider()
    assert abs(get_time() - time.time()) < 60


def test_ids_are_random_again_after_the_reset() -> None:
    set_id_provider(lambda: "one")
    assert new_uuid() == Event(author="a").id == "one"
    reset_id_provider()
    assert len({new_uuid() for _ in range(100)}) == 100


def test_what_is_no_source_is_refused() -> None:
    with pytest.raises(InputValidationError, match=r"set_time_provider\(\) takes a function"):
        set_time_provider(None)  # type: ignore[arg-type]
    with pytest.raises(InputValidationError, match=r"set_id_provider\(\) takes a function"):
        set_id_provider("x")  # type: ignore[arg-type]
    for made in (7, ""):
        set_id_provider(lambda made=made: made)  # type: ignore[misc,arg-type]
        with pytest.raises(InputValidationError, match="not a text"):
            new_uuid()


def test_a_thread_is_made_and_not_started() -> None:
    seen: list[Any] = []

    def note(*args: int, **named: int) -> None:
        seen.append((args, named))

    thread = create_thread(note, 1, b=2)
    assert isinstance(thread, threading.Thread) and not thread.is_alive() and seen == []
    thread.start()
    thread.join()
    assert seen == [((1,), {"b": 2})]
    assert platform.__doc__

"""Artifacts that tools save: their versions, and what the event says of them."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.artifacts import InMemoryArtifactService
from ostinato.events import Event
from ostinato.runners import InMemoryRunner
from ostinato.testing import ScriptedModel, call
from ostinato.tools import ToolContext


@pytest.mark.spec(196)
async def test_the_event_maps_each_name_to_its_newest_version() -> None:
    async def write(text: str, tool_context: ToolContext) -> list[int]:
        first = await tool_context.save_artifact("a.txt", types.Part(text=f"{text} 1"))
        second = await tool_context.save_artifact("a.txt", types.Part(text=f"{text} 2"))
        other = await tool_context.save_artifact("b.txt", types.Part(text=text))
        return [first, second, other]

    model = ScriptedModel([call("write", text="x"), call("write", text="y"), "Done."])
    runner = InMemoryRunner(
        app=App(name="talk", root_agent=LlmAgent(name="clerk", model=model, tools=[write]))
    )
    runner.auto_create_session = True
    who: dict[str, Any] = {"user_id": "ann", "session_id": "one"}
    events: list[Event] = [e async for e in runner.run_async(**who, new_message="Go")]
    answers = [event for event in events if event.get_function_responses()]
    given = [r.response for event in answers for r in event.get_function_responses()]
    assert given == [{"result": [0, 1, 0]}, {"result": [2, 3, 1]}]
    deltas = [event.actions.artifact_delta for event in answers]
    assert deltas == [{"a.txt": 1, "b.txt": 0}, {"a.txt": 3, "b.txt": 1}]
    service = runner.artifact_service
    assert service is not None
    place: dict[str, Any] = {"app_name": "talk", **who}
    assert await service.list_versions(**place, filename="a.txt") == [0, 1, 2, 3]
    texts = []
    for version in (0, 3, None):
        part = await service.load_artifact(**place, filename="a.txt", version=version)
        assert part is not None
        texts.append(part.text)
    assert texts == ["x 1", "y 2", "y 2"]


async def test_what_is_kept_in_memory_can_be_looked_at() -> None:
    service = InMemoryArtifactService()
    place: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    for name, text in (("f.txt", "one"), ("f.txt", "two"), ("user:g.txt", "three")):
        await service.save_artifact(**place, filename=name, artifact=types.Part(text=text))
    found = service.artifacts
    assert {path: [one.data.text for one in kept] for path, kept in found.items()} == {
        "app/ann/s/f.txt": ["one", "two"],
        "app/ann/user/user:g.txt": ["three"],
    }
    assert [one.artifact_version.version for one in found["app/ann/s/f.txt"]] == [0, 1]
    found.clear()
    assert len(service.artifacts) == 2

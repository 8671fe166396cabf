"""SaveFilesAsArtifactsPlugin: what becomes of the files in a message."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent, SequentialAgent
from ostinato.artifacts import InMemoryArtifactService
from ostinato.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import load_artifacts

PLACE: dict[str, Any] = {"app_name": "app", "user_id": "user", "session_id": "session"}


def file(data: bytes, name: str | None = None) -> types.Part:
    blob = types.Blob(data=data, mime_type="image/png", display_name=name)
    return types.Part(inline_data=blob)


class Cloud(InMemoryArtifactService):
    async def get_artifact_version(self, **place: Any) -> Any:
        found = await super().get_artifact_version(**place)
        assert found is not None
        return found.model_copy(update={"canonical_uri": "gs://bucket/a"})


class Full(InMemoryArtifactService):
    async def save_artifact(self, **place: Any) -> int:
        raise OSError("the disk is full")


def talk_with(
    model: ScriptedModel, artifacts: Any, agent: Any = None, **settings: Any
) -> Conversation:
    return Conversation(
        Runner(
            app_name="app",
            agent=agent or Agent(name="root", model=model, tools=[load_artifacts]),
            session_service=InMemorySessionService(),
            artifact_service=artifacts,
            plugins=[SaveFilesAsArtifactsPlugin(**settings)],
        )
    )


@pytest.mark.spec(158)
async def test_a_file_becomes_an_artifact_that_the_model_can_load() -> None:
    artifacts = InMemoryArtifactService()
    model = ScriptedModel([call("load_artifacts", artifact_names=["a.png"]), "A dot."])
    talk = talk_with(model, artifacts)
    await talk.say([types.Part(text="Look"), file(b"abc", "a.png"), types.Part(text="please")])
    assert model.requests[0].texts == ["Look", '[Uploaded Artifact: "a.png"]', "please"]
    assert talk.events[0].actions.artifact_delta == {"a.png": 0}
    stored = (await talk.session()).events[0].content
    assert stored is not None and not any(part.inline_data for part in stored.parts or [])
    assert await artifacts.load_artifact(**PLACE, filename="a.png") == file(b"abc", "a.png")
    shown = model.requests[1].contents[-1].parts or []
    assert shown[1].inline_data == types.Blob(
        data=b"abc", mime_type="image/png", display_name="a.png"
    )
    assert (await talk.session()).state == {}


async def test_versions_are_noted_once() -> None:
    model = ScriptedModel(["One.", "Two."])
    agents = [Agent(name=name, model=model) for name in ("one", "two")]
    talk = talk_with(
        model, InMemoryArtifactService(), SequentialAgent(name="s", sub_agents=[*agents])
    )
    await talk.say([file(b"a", "a.png"), file(b"b", "a.png"), file(b"c")])
    name = f"artifact_{talk.events[0].invocation_id}_2"
    noted = [event.actions.artifact_delta for event in talk.events if event.actions.artifact_delta]
    assert noted == [{"a.png": 1, name: 0}]


@pytest.mark.parametrize("attach", [True, False])
async def test_a_reference_is_added_where_the_service_can_read_it(attach: bool) -> None:
    model = ScriptedModel(["Seen."])
    talk = talk_with(model, Cloud(), attach_file_reference=attach)
    await talk.say([file(b"abc", "a.png")])
    references = [part.file_data for part in model.requests[0].parts if part.file_data]
    data = types.FileData(file_uri="gs://bucket/a", mime_type="image/png", display_name="a.png")
    assert references == ([data] if attach else [])


async def test_what_cannot_be_saved_stays(caplog: pytest.LogCaptureFixture) -> None:
    for artifacts, name in ((Full(), "a.png"), (InMemoryArtifactService(), "../up")):
        model = ScriptedModel(["Seen."])
        with caplog.at_level(logging.WARNING):
            await talk_with(model, artifacts).say([types.Part(text="Look"), file(b"abc", name)])
        assert model.requests[0].parts[1] == file(b"abc", name)
    assert "could not be saved" in caplog.text


async def test_without_a_service_nothing_happens(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel(["Seen."])
    talk = talk_with(model, None, Agent(name="root", model=model))
    with caplog.at_level(logging.WARNING):
        await talk.say([file(b"abc", "a.png")])
    assert model.requests[0].parts == [file(b"abc", "a.png")]
    assert "No artifact service" in caplog.text


async def test_without_a_service_the_hook_returns_the_message() -> None:
    context: Any = SimpleNamespace(artifact_service=None)
    message = types.Content(role="user", parts=[file(b"abc", "a.png")])
    plugin = SaveFilesAsArtifactsPlugin()
    told = await plugin.on_user_message_callback(invocation_context=context, user_message=message)
    assert told is message


async def test_other_parts_stay() -> None:
    model = ScriptedModel(["Seen."])
    reference = types.Part(file_data=types.FileData(file_uri="gs://a/b", mime_type="image/png"))
    talk = talk_with(model, InMemoryArtifactService())
    await talk.say([types.Part(text="Look"), reference])
    assert model.requests[0].parts == [types.Part(text="Look"), reference]
    assert len(talk.events) == 1

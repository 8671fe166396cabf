"""load_artifacts: what is listed, what is shown, and for how long."""

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.artifacts import InMemoryArtifactService
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import load_artifacts
from tests.unit.tools.contexts import make_context


async def talk_with(model: ScriptedModel, files: dict[str, types.Part], *more: Any) -> Conversation:
    """Return a talk whose user has these files."""
    artifacts = InMemoryArtifactService()
    for name, part in files.items():
        await artifacts.save_artifact(
            app_name="app", user_id="user", session_id="session", filename=name, artifact=part
        )
    runner = Runner(
        app_name="app",
        agent=Agent(name="root", model=model, tools=[*more, load_artifacts]),
        session_service=InMemorySessionService(),
        artifact_service=artifacts,
    )
    return Conversation(runner)


def blob(data: bytes, mime_type: str | None) -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type=mime_type))


async def shown(name: str, part: types.Part) -> list[types.Part]:
    """Return what the model gets to see of a file."""
    model = ScriptedModel([call("load_artifacts", artifact_names=[name]), "Read."])
    await (await talk_with(model, {name: part})).say("Read")
    title, *parts = model.requests[1].contents[-1].parts or []
    assert title.text == f"Artifact {name} is:"
    return parts


@pytest.mark.parametrize("mime_type", ["image/png", "audio/mpeg", "video/mp4", "application/pdf"])
async def test_media_are_shown_as_they_are(mime_type: str) -> None:
    assert await shown("a.bin", blob(b"\x00\xff", mime_type)) == [blob(b"\x00\xff", mime_type)]


@pytest.mark.parametrize(
    "mime_type",
    ["text/csv", "application/json", "application/xml; charset=utf-8", "image/svg+xml", "a/b+json"],
)
async def test_text_is_shown_as_text(mime_type: str) -> None:
    assert await shown("a.txt", blob(b"a,b \xff", mime_type)) == [types.Part(text="a,b \ufffd")]


@pytest.mark.parametrize("mime_type", ["application/zip", "application/octet-stream", ""])
async def test_other_bytes_are_only_named(mime_type: str) -> None:
    (part,) = await shown("a.zip", blob(b"PK", mime_type))
    assert part.inline_data is None
    assert "a.zip" in (part.text or "") and "2 bytes" in (part.text or "")


async def test_texts_and_references_stay() -> None:
    assert await shown("a.txt", types.Part(text="hello")) == [types.Part(text="hello")]
    reference = types.Part(file_data=types.FileData(file_uri="gs://a/b", mime_type="image/png"))
    assert await shown("a.png", reference) == [reference]


@pytest.mark.spec(197)
async def test_the_model_is_told_the_names_and_sees_the_files_once() -> None:
    model = ScriptedModel([call("load_artifacts", artifact_names=["a.txt"]), "Read.", "Yes."])
    talk = await talk_with(
        model, {"a.txt": types.Part(text="hello"), "user:b.txt": types.Part("b")}
    )
    await talk.say("Read")
    await talk.say("Sure?")
    for request in model.requests:
        assert '["a.txt", "user:b.txt"]' in request.instruction
    assert "hello" in model.requests[1].texts
    assert "hello" not in model.requests[2].texts
    stored = [e.model_dump_json() for e in (await talk.session()).events]
    assert not any("hello" in event for event in stored)


async def test_a_response_beside_others_is_found() -> None:
    def clock() -> int:
        """Tell the time."""
        return 12

    model = ScriptedModel(
        [[call("load_artifacts", artifact_names=["a.txt"]), call("clock")], "Ok."]
    )
    talk = await talk_with(model, {"a.txt": types.Part(text="hello")}, clock)
    await talk.say("Read")
    assert model.requests[1].texts[-2:] == ["Artifact a.txt is:", "hello"]


async def test_files_of_the_user_need_no_prefix_and_missing_ones_are_named() -> None:
    names = ["b.txt", "ghost", "../up", "b.txt"]
    model = ScriptedModel([call("load_artifacts", artifact_names=names), "Ok."])
    talk = await talk_with(model, {"user:b.txt": types.Part(text="hello")})
    await talk.say("Read")
    assert model.requests[1].texts[1:] == [
        "Artifact b.txt is:",
        "hello",
        "There is no artifact ghost.",
        "There is no artifact ../up.",
    ]


async def test_without_files_nothing_is_said_of_them() -> None:
    model = ScriptedModel([call("load_artifacts"), "None."])
    talk = await talk_with(model, {})
    await talk.say("Read")
    assert "artifact" not in model.requests[0].instruction
    (answer,) = model.requests[1].function_responses
    assert (answer.response or {})["artifact_names"] == []


@pytest.mark.parametrize("wrong", ["a.txt", [1], {"a": 1}])
async def test_names_of_the_wrong_type_are_told(wrong: Any) -> None:
    answer = await load_artifacts.run_async(
        args={"artifact_names": wrong}, tool_context=make_context()
    )
    assert "artifact_names" in answer["error"]

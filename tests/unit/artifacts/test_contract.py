"""The contract of every artifact service."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from ostinato.artifacts import (
    ArtifactVersion,
    BaseArtifactService,
    FileArtifactService,
    InMemoryArtifactService,
)
from ostinato.artifacts.artifact_util import get_artifact_uri
from ostinato.errors import InputValidationError
from ostinato.types import Blob, FileData, FunctionCall, Part
from tests.support.optionals import present
from tests.unit.artifacts.fake_gcs import gcs_service, serving

OWNER: dict[str, Any] = {"app_name": "app", "user_id": "ann"}
S1: dict[str, Any] = {**OWNER, "session_id": "s1"}
S2: dict[str, Any] = {**OWNER, "session_id": "s2"}


@pytest.fixture(params=["memory", "file", "gcs"])
async def service(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BaseArtifactService]:
    if request.param == "memory":
        yield InMemoryArtifactService()
    elif request.param == "file":
        yield FileArtifactService(tmp_path)
    else:
        with serving(page_size=3) as bucket:
            gcs = gcs_service(bucket)
            yield gcs
            await gcs.close()


def text(content: str) -> Part:
    return Part(text=content)


async def test_versions_count_from_zero_and_the_latest_is_the_default(
    service: BaseArtifactService,
) -> None:
    for number, content in enumerate(["one", "two", "three"]):
        saved = await service.save_artifact(filename="a.txt", artifact=text(content), **S1)
        assert saved == number
    assert await service.list_versions(filename="a.txt", **S1) == [0, 1, 2]
    assert await service.load_artifact(filename="a.txt", **S1) == text("three")
    assert await service.load_artifact(filename="a.txt", version=1, **S1) == text("two")


async def test_more_than_ten_versions_stay_in_order(service: BaseArtifactService) -> None:
    for number in range(12):
        await service.save_artifact(filename="a", artifact=text(str(number)), **S1)
    assert await service.list_versions(filename="a", **S1) == list(range(12))
    assert await service.load_artifact(filename="a", **S1) == text("11")


@pytest.mark.parametrize(
    "part",
    [
        Part(text="grüße\r\n你好\n"),
        Part(text=""),
        Part(text="x", thought=True),
        Part(inline_data=Blob(data=bytes(range(256)), mime_type="image/png")),
        Part(inline_data=Blob(data=b"", mime_type="a/b")),
        Part(inline_data=Blob(data=b"abc")),
        Part(inline_data=Blob(data=b"abc", mime_type="a/b", display_name="name")),
        Part(inline_data=Blob(data=b"abc", mime_type="text/plain")),
        Part(file_data=FileData(file_uri="gs://bucket/x.png", mime_type="image/png")),
    ],
)
async def test_a_part_comes_back_as_it_was(service: BaseArtifactService, part: Part) -> None:
    await service.save_artifact(filename="p", artifact=part, **S1)
    assert await service.load_artifact(filename="p", **S1) == part


@pytest.mark.parametrize("names", [("inlineData", "mimeType"), ("inline_data", "mime_type")])
async def test_a_part_may_be_its_json(service: BaseArtifactService, names: tuple[str, str]) -> None:
    part: dict[str, Any] = {names[0]: {names[1]: "text/css", "data": "aGk="}}
    await service.save_artifact(filename="p", artifact=part, **S1)
    loaded = await service.load_artifact(filename="p", **S1)
    assert loaded == Part(inline_data=Blob(data=b"hi", mime_type="text/css"))


class ForeignPart(BaseModel):
    """Stands for the like-named record of another library."""

    text: str


async def test_a_part_may_be_another_librarys(service: BaseArtifactService) -> None:
    foreign: Any = ForeignPart(text="theirs")
    await service.save_artifact(filename="p", artifact=foreign, **S1)
    assert await service.load_artifact(filename="p", **S1) == text("theirs")


@pytest.mark.parametrize(
    "artifact", [Part(), Part(function_call=FunctionCall(name="f", args={})), "text", b"data", None]
)
async def test_what_is_no_content_is_refused(service: BaseArtifactService, artifact: Any) -> None:
    with pytest.raises(InputValidationError, match=r"Part\.from_"):
        await service.save_artifact(filename="p", artifact=artifact, **S1)
    with pytest.raises(ValidationError):
        await service.save_artifact(filename="p", artifact={"foo": 1}, **S1)
    assert await service.list_artifact_keys(**S1) == []
    assert await service.list_versions(filename="p", **S1) == []


async def test_later_changes_do_not_reach_what_is_stored(service: BaseArtifactService) -> None:
    part, metadata = text("kept"), {"a": [1]}
    await service.save_artifact(filename="p", artifact=part, custom_metadata=metadata, **S1)
    part.text = "changed"
    metadata["a"].append(2)
    loaded = present(await service.load_artifact(filename="p", **S1))
    assert loaded == text("kept")
    loaded.text = "changed"
    version = await service.get_artifact_version(filename="p", **S1)
    assert version is not None
    assert version.custom_metadata == {"a": [1]}
    version.custom_metadata.clear()
    assert await service.load_artifact(filename="p", **S1) == text("kept")
    again = await service.get_artifact_version(filename="p", **S1)
    assert again is not None
    assert again.custom_metadata == {"a": [1]}


async def test_absent_things_are_none_or_empty(service: BaseArtifactService) -> None:
    await service.save_artifact(filename="there", artifact=text("x"), **S1)
    for name, version in [("gone", None), ("gone", 0), ("there", 1), ("there", -1)]:
        assert await service.load_artifact(filename=name, version=version, **S1) is None
        assert await service.get_artifact_version(filename=name, version=version, **S1) is None
    assert await service.list_versions(filename="gone", **S1) == []
    assert await service.list_artifact_versions(filename="gone", **S1) == []
    await service.delete_artifact(filename="gone", **S1)


async def test_version_records(service: BaseArtifactService) -> None:
    png = Part(inline_data=Blob(data=b"x", mime_type="image/png"))
    await service.save_artifact(filename="p", artifact=text("x"), **S1)
    await service.save_artifact(
        filename="p", artifact=png, custom_metadata={"k": {"v": None}}, **S1
    )
    first, second = await service.list_artifact_versions(filename="p", **S1)
    assert (first.version, first.mime_type, first.custom_metadata) == (0, "text/plain", {})
    assert (second.version, second.mime_type) == (1, "image/png")
    assert second.custom_metadata == {"k": {"v": None}}
    assert second.create_time > first.create_time
    assert first.canonical_uri != second.canonical_uri
    assert await service.get_artifact_version(filename="p", **S1) == second
    assert await service.get_artifact_version(filename="p", version=0, **S1) == first
    dumped = ArtifactVersion.model_dump(second, by_alias=True)
    assert set(dumped) == {"version", "canonicalUri", "customMetadata", "createTime", "mimeType"}


async def test_metadata_must_be_json(service: BaseArtifactService) -> None:
    with pytest.raises(InputValidationError, match="'p'"):
        await service.save_artifact(
            filename="p", artifact=text("x"), custom_metadata={"a": object()}, **S1
        )
    assert await service.list_artifact_keys(**S1) == []


async def test_keys_are_sorted_and_hold_the_users_artifacts(service: BaseArtifactService) -> None:
    for name in ["z", "a/b/c", "B", "user:pic", "user:x/y", "a/d.txt"]:
        await service.save_artifact(filename=name, artifact=text(name), **S1)
    assert await service.list_artifact_keys(**S1) == [
        *("B", "a/b/c", "a/d.txt", "user:pic", "user:x/y", "z")
    ]
    assert await service.list_artifact_keys(**S2) == ["user:pic", "user:x/y"]
    assert await service.list_artifact_keys(**OWNER) == ["user:pic", "user:x/y"]


async def test_user_artifacts_are_one_in_all_sessions(service: BaseArtifactService) -> None:
    assert await service.save_artifact(filename="user:a", artifact=text("1"), **S1) == 0
    assert await service.save_artifact(filename="user:a", artifact=text("2"), **S2) == 1
    assert await service.save_artifact(filename="user:a", artifact=text("3"), **OWNER) == 2
    assert await service.load_artifact(filename="user:a", **S1) == text("3")
    await service.delete_artifact(filename="user:a", **S2)
    assert await service.list_artifact_keys(**S1) == []


async def test_a_session_artifact_needs_its_session(service: BaseArtifactService) -> None:
    with pytest.raises(InputValidationError, match="session_id"):
        await service.save_artifact(filename="a", artifact=text("1"), **OWNER)
    with pytest.raises(InputValidationError, match="session_id"):
        await service.load_artifact(filename="a", **OWNER)


@pytest.mark.parametrize(
    "other",
    [
        {"app_name": "app2", "user_id": "ann", "session_id": "s1"},
        {"app_name": "app", "user_id": "bob", "session_id": "s1"},
        {"app_name": "app", "user_id": "ann/sessions/s1", "session_id": "s1"},
        {"app_name": "app", "user_id": "../ann", "session_id": "s1"},
        {"app_name": "APP%2F", "user_id": "ann", "session_id": "s1"},
    ],
)
async def test_owners_are_apart(service: BaseArtifactService, other: dict[str, Any]) -> None:
    for name in ("a", "user:a"):
        await service.save_artifact(filename=name, artifact=text("mine"), **S1)
        assert await service.load_artifact(filename=name, **other) is None
        assert await service.save_artifact(filename=name, artifact=text("theirs"), **other) == 0
        assert await service.load_artifact(filename=name, **S1) == text("mine")
    assert await service.list_artifact_keys(**other) == ["a", "user:a"]


async def test_deleting_starts_the_versions_anew(service: BaseArtifactService) -> None:
    for content in "12":
        await service.save_artifact(filename="a", artifact=text(content), **S1)
    await service.delete_artifact(filename="a", **S1)
    assert await service.list_artifact_keys(**S1) == []
    assert await service.load_artifact(filename="a", **S1) is None
    assert await service.save_artifact(filename="a", artifact=text("new"), **S1) == 0


BAD_NAMES = ["", "user:", "..", "../x", "a/../b", "a\\..\\b", "/etc/x", "\\x", "C:\\x", "c:/x"]
BAD_NAMES += ["user:../x", "user:/x", "x\0y", "x" * 201, "\ud800"]
BAD_NAMES += ["x" * 400, "user:\\x", "user:C:/x", "user:..", "user:a/../b", "user:\0", "../../x"]


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_names_that_leave_their_place_are_refused(
    service: BaseArtifactService, name: str, tmp_path: Path
) -> None:
    for call in (
        service.save_artifact(filename=name, artifact=text("x"), **S1),
        service.load_artifact(filename=name, **S1),
        service.delete_artifact(filename=name, **S1),
        service.list_versions(filename=name, **S1),
        service.list_artifact_versions(filename=name, **S1),
        service.get_artifact_version(filename=name, **S1),
    ):
        with pytest.raises(InputValidationError) as caught:
            await call
        assert str(tmp_path) not in str(caught.value)


BAD_IDS = [{"app_name": ""}, {"user_id": ""}, {"session_id": "x" * 201}, {"app_name": "."}]
BAD_IDS += [{"user_id": ".."}, {"session_id": ".."}, {"user_id": "a\nb"}, {"session_id": "a\x7f"}]


@pytest.mark.parametrize("ids", BAD_IDS)
async def test_owners_ids_are_checked(service: BaseArtifactService, ids: dict[str, str]) -> None:
    with pytest.raises(InputValidationError, match=next(iter(ids))):
        await service.save_artifact(filename="a", artifact=text("x"), **{**S1, **ids})
    with pytest.raises(InputValidationError, match=next(iter(ids))):
        await service.list_artifact_keys(**{**S1, **ids})


ODD_NAMES = ["a", "a/b", "a//b", "a/./b", "a/", ".", ".x", "x.", " ", "a%2Fb", "a:b", "versions"]
ODD_NAMES += ["a/versions/0", "metadata.json", "content", "é", "你" * 190, "x" * 200, "user:user:x"]
ODD_NAMES += ["你" * 189 + "好", "a\nb", "a|b*?", "...", "x~%~y"]
ODD_NAMES += ["User:x", "USER:x", "user", "user: x", "CON", "nul.txt", ".staging", "apps", "..x"]


async def test_odd_names_are_names_like_others(service: BaseArtifactService) -> None:
    for name in ODD_NAMES:
        assert await service.save_artifact(filename=name, artifact=text(name), **S1) == 0
    for name in ODD_NAMES:
        assert await service.load_artifact(filename=name, **S1) == text(name)
    assert await service.list_artifact_keys(**S1) == sorted(ODD_NAMES)


async def test_writers_at_the_same_time_each_get_a_version(service: BaseArtifactService) -> None:
    saves = (service.save_artifact(filename="a", artifact=text(str(n)), **S1) for n in range(20))
    numbers = await asyncio.gather(*saves)
    assert sorted(numbers) == list(range(20))
    for n, number in enumerate(numbers):
        loaded = await service.load_artifact(filename="a", version=number, **S1)
        assert loaded == text(str(n))


def reference(filename: str, version: int = 0, **owner: Any) -> Part:
    uri = get_artifact_uri(
        **{**OWNER, **owner},
        filename=filename,
        version=version,  # type: ignore[arg-type]
    )
    return Part(file_data=FileData(file_uri=uri, mime_type="text/plain"))


async def test_references_are_followed(service: BaseArtifactService) -> None:
    await service.save_artifact(filename="a/b", artifact=text("old"), **S1)
    await service.save_artifact(filename="a/b", artifact=text("new"), **S1)
    await service.save_artifact(filename="user:u", artifact=text("user's"), **S2)
    for name, target in {
        "first": reference("a/b", session_id="s1"),
        "second": reference("first", session_id="s1"),
        "shared": reference("user:u"),
        "nowhere": reference("gone", session_id="s1"),
    }.items():
        await service.save_artifact(filename=name, artifact=target, **S1)
    assert await service.load_artifact(filename="second", **S1) == text("old")
    assert await service.load_artifact(filename="shared", **S1) == text("user's")
    assert await service.load_artifact(filename="nowhere", **S1) is None


@pytest.mark.parametrize(
    "part",
    [
        reference("a", user_id="bob", session_id="s1"),
        reference("a", app_name="app2", session_id="s1"),
        reference("a", session_id="s2"),
        reference("../a", session_id="s1"),
        Part(file_data=FileData(file_uri="artifact://bad")),
    ],
)
async def test_references_stay_inside_their_owner(service: BaseArtifactService, part: Part) -> None:
    with pytest.raises(InputValidationError):
        await service.save_artifact(filename="ref", artifact=part, **S1)
    assert await service.list_artifact_keys(**S1) == []


async def test_a_users_artifact_does_not_open_a_session(service: BaseArtifactService) -> None:
    with pytest.raises(InputValidationError, match="session"):
        await service.save_artifact(
            filename="user:ref", artifact=reference("a", session_id="s1"), **S1
        )


async def test_a_circle_of_references_ends(service: BaseArtifactService) -> None:
    circle = reference("me", session_id="s1")
    await service.save_artifact(filename="me", artifact=circle, **S1)
    with pytest.raises(InputValidationError, match="circle"):
        await service.load_artifact(filename="me", **S1)

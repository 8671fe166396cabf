"""What only the folder of artifacts has to keep: files, crashes, other processes."""

import os
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from ostinato.artifacts import FileArtifactService
from ostinato.errors import InputValidationError
from ostinato.types import Part

S1 = {"app_name": "app", "user_id": "ann", "session_id": "s1"}


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


async def test_layout(tmp_path: Path) -> None:
    service = FileArtifactService(tmp_path)
    await service.save_artifact(filename="a/b.txt", artifact=Part(text="x"), **S1)
    await service.save_artifact(filename="user:pic", artifact=Part(text="y"), **S1)
    ann = "apps/app/users/ann"
    assert files(tmp_path) == {
        f"{ann}/sessions/s1/artifacts/a%2Fb.txt/versions/0/content",
        f"{ann}/sessions/s1/artifacts/a%2Fb.txt/versions/0/metadata.json",
        f"{ann}/artifacts/user%3Apic/versions/0/content",
        f"{ann}/artifacts/user%3Apic/versions/0/metadata.json",
    }


async def test_nothing_is_written_outside_the_root(tmp_path: Path) -> None:
    root = tmp_path / "in" / "root"
    service = FileArtifactService(root)
    for odd in ["..", ".", "../../out", "/abs", "a/b", "C:\\x", "x" * 200]:
        owner = {"app_name": odd, "user_id": odd, "session_id": odd}
        await service.save_artifact(filename="f", artifact=Part(text=odd), **owner)
        assert await service.load_artifact(filename="f", **owner) == Part(text=odd)
    assert all(path.startswith("in/root/apps/") for path in files(tmp_path))


async def test_canonical_uri_is_the_file(tmp_path: Path) -> None:
    service = FileArtifactService(tmp_path)
    await service.save_artifact(filename="ä b", artifact=Part(text="x"), **S1)
    version = await service.get_artifact_version(filename="ä b", **S1)
    assert version is not None
    with open(url2pathname(urlsplit(version.canonical_uri).path), "rb") as file:  # noqa: ASYNC230
        assert file.read() == b"x"


async def test_another_service_on_the_same_root_goes_on(tmp_path: Path) -> None:
    await FileArtifactService(tmp_path).save_artifact(filename="a", artifact=Part(text="1"), **S1)
    other = FileArtifactService(str(tmp_path))
    assert await other.save_artifact(filename="a", artifact=Part(text="2"), **S1) == 1
    assert await other.list_artifact_keys(**S1) == ["a"]


async def test_what_a_killed_process_left_is_not_seen(tmp_path: Path) -> None:
    service = FileArtifactService(tmp_path)
    (tmp_path / ".staging" / "half").mkdir()
    artifact = tmp_path / "apps/app/users/ann/sessions/s1/artifacts/a"
    (artifact / "versions").mkdir(parents=True)
    assert await service.list_artifact_keys(**S1) == []
    assert await service.load_artifact(filename="a", **S1) is None
    assert await service.save_artifact(filename="a", artifact=Part(text="1"), **S1) == 0


async def test_a_failed_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FileArtifactService(tmp_path)

    def full_disk(self: Path, data: bytes) -> int:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="no space left"):
        await service.save_artifact(filename="a", artifact=Part(text="1"), **S1)
    assert list((tmp_path / ".staging").iterdir()) == []
    assert await service.list_artifact_keys(**S1) == []


async def test_a_number_taken_by_another_process_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FileArtifactService(tmp_path)
    rename = os.rename
    rivals = ["rival"]

    def late(source: Path, target: Path) -> None:
        if rivals:
            rivals.pop()
            target.mkdir()
            (target / "content").write_bytes(b"rival")
        rename(source, target)

    monkeypatch.setattr(os, "rename", late)
    assert await service.save_artifact(filename="a", artifact=Part(text="1"), **S1) == 1


async def test_a_rename_that_is_refused_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FileArtifactService(tmp_path)

    def refuse(source: Path, target: Path) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(PermissionError):
        await service.save_artifact(filename="a", artifact=Part(text="1"), **S1)


def test_the_root_is_made_and_must_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert FileArtifactService("~/deep/er").root_dir == tmp_path.resolve() / "deep" / "er"
    assert (tmp_path / "deep" / "er").is_dir()
    with pytest.raises(InputValidationError, match="root_dir"):
        FileArtifactService("")

"""What only the folder of artifacts has to keep: files, crashes, other processes."""

import asyncio
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from ostinato.artifacts import FileArtifactService, file_artifact_service
from ostinato.errors import InputValidationError, StoreError
from ostinato.types import Part

S1: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s1"}


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
    for odd in ["...", "../../out", "/abs", "a/b", "C:\\x", "x" * 200]:
        owner: dict[str, Any] = {"app_name": odd, "user_id": odd, "session_id": odd}
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
    fsync = os.fsync

    def full_disk(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path))

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(StoreError, match="the disk or the quota is full"):
        await service.save_artifact(filename="a", artifact=Part(text="1"), **S1)
    monkeypatch.setattr(os, "fsync", fsync)
    assert list((tmp_path / ".staging").iterdir()) == []
    assert await service.list_artifact_keys(**S1) == []
    assert await service.save_artifact(filename="a", artifact=Part(text="1"), **S1) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc which file is meant")
async def test_a_version_is_on_the_disk_before_its_number_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files first, then the folder they are in, then its name, then every folder that is new."""
    service = FileArtifactService(tmp_path)
    order: list[str] = []
    fsync, rename = os.fsync, os.rename

    def note_sync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        order.append("/".join(path.relative_to(tmp_path).parts[-1:]) or "root")
        fsync(descriptor)

    def note_rename(source: Path, target: Path) -> None:
        order.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "rename", note_rename)
    await service.save_artifact(filename="a", artifact=Part(text="1"), **S1)
    assert order[:2] == ["content", "metadata.json"]
    folders = ["root", "apps", "app", "users", "ann", "sessions", "s1", "artifacts", "a"]
    assert order[3:] == [*folders, "rename", "versions"]
    del order[:]
    await service.save_artifact(filename="a", artifact=Part(text="2"), **S1)
    assert order[3:] == ["rename", "versions"]


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
        raise PermissionError(errno.EACCES, "Permission denied", str(source))

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StoreError, match="read and write") as caught:
        await service.save_artifact(filename="a", artifact=Part(text="1"), **S1)
    assert str(tmp_path) not in str(caught.value)


def test_the_root_is_made_and_must_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert FileArtifactService("~/deep/er").root_dir == tmp_path.resolve() / "deep" / "er"
    assert (tmp_path / "deep" / "er").is_dir()
    for path in ("", "x\0y"):
        with pytest.raises(InputValidationError, match="root_dir"):
            FileArtifactService(path)


async def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file")
    with pytest.raises(StoreError, match="'root' holds a file where a folder") as caught:
        FileArtifactService(tmp_path / "root")
    assert str(tmp_path) not in str(caught.value)
    service = FileArtifactService(tmp_path / "good")
    (tmp_path / "good" / "apps").write_text("a file")
    for call in (
        service.save_artifact(filename="a", artifact=Part(text="x"), **S1),
        service.load_artifact(filename="a", version=0, **S1),
        service.list_artifact_keys(**S1),
        service.delete_artifact(filename="a", **S1),
    ):
        with pytest.raises(StoreError, match="'good' holds a file where a folder") as caught:
            await call
        assert str(tmp_path) not in str(caught.value)
    assert (tmp_path / "good" / "apps").read_text() == "a file"


async def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    service = FileArtifactService(tmp_path / "root")
    shutil.rmtree(tmp_path / "root")
    with pytest.raises(StoreError, match="'root' is gone"):
        await service.save_artifact(filename="a", artifact=Part(text="x"), **S1)


def test_a_folder_that_cannot_be_made_is_not_called_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one below /proc."""

    def refuse(folder: Path) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(folder))

    monkeypatch.setattr(file_artifact_service, "make_private_folders", refuse)
    with pytest.raises(StoreError, match="'root' cannot be made: the folder that") as caught:
        FileArtifactService(tmp_path / "root")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"part": {"text": 1}}'])
async def test_damaged_metadata_is_a_typed_error(tmp_path: Path, text: str) -> None:
    service = FileArtifactService(tmp_path)
    await service.save_artifact(filename="a", artifact=Part(text="x"), **S1)
    (metadata,) = (tmp_path / name for name in files(tmp_path) if name.endswith(".json"))
    metadata.write_text(text)
    for call in (
        service.load_artifact(filename="a", **S1),
        service.get_artifact_version(filename="a", **S1),
        service.list_artifact_versions(filename="a", **S1),
    ):
        with pytest.raises(StoreError, match="damaged") as caught:
            await call
        assert str(tmp_path) not in str(caught.value)


CHILD = """
import asyncio, json, os, sys, threading
from ostinato.artifacts import FileArtifactService
from ostinato.errors import StoreError
from ostinato.types import Part

S1 = {"app_name": "app", "user_id": "ann", "session_id": "s1"}
root, name = sys.argv[1:3]
service = FileArtifactService(root)

def save(text):
    return asyncio.run(service.save_artifact(filename="a", artifact=Part(text=text), **S1))

def load():
    return asyncio.run(service.load_artifact(filename="a", **S1)).text

def tried(work, *given):
    try:
        return work(*given)
    except StoreError as error:
        return str(error)

def told(answer):
    print(json.dumps(answer), flush=True)
"""

WRITER = """
saved = []
def work(thread):
    for n in range(10):
        text = f"{name}-{thread}-{n}"
        saved.append((save(text), text))
told("ready")
sys.stdin.readline()
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
told(saved)
"""

FULL = """
import resource
save("before")
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
told([tried(save, "x" * 100_000), load(), save("small"), os.listdir(root + "/.staging")])
"""

READ_ONLY = """
save("before")
for folder, _, files in os.walk(root):
    os.chmod(folder, 0o555)
    for file in files:
        os.chmod(os.path.join(folder, file), 0o444)
if os.geteuid() == 0:
    os.seteuid(65534)  # a superuser may write everywhere
told([tried(save, "after"), load(), tried(lambda: FileArtifactService(root + "/new/deeper"))])
"""


def child(code: str, root: Path | str, name: str = "child") -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CHILD + code, str(root), name]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)


def answer(process: subprocess.Popen[str], say: str = "") -> Any:
    out, _ = process.communicate(say, timeout=60)
    assert process.returncode == 0
    return json.loads(out)


@pytest.mark.long
def test_threads_of_several_processes_each_get_every_version_once(tmp_path: Path) -> None:
    processes = [child(WRITER, tmp_path, f"p{n}") for n in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == "ready"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    saved = dict(pair for process in processes for pair in answer(process))
    assert sorted(saved) == list(range(90))
    assert sorted(saved.values()) == sorted(
        f"p{p}-{thread}-{n}" for p in range(3) for thread in range(3) for n in range(10)
    )
    service = FileArtifactService(tmp_path)

    async def load_all() -> dict[int, str | None]:
        numbers = await service.list_versions(filename="a", **S1)
        loads = (service.load_artifact(filename="a", version=n, **S1) for n in numbers)
        parts = await asyncio.gather(*loads)
        return {n: part.text for n, part in zip(numbers, parts, strict=True) if part}

    assert asyncio.run(load_all()) == saved


@pytest.mark.skipif(os.name == "nt", reason="limits and modes of POSIX")
def test_a_full_disk_keeps_what_there_is_and_says_so(tmp_path: Path) -> None:
    error, before, number, staged = answer(child(FULL, tmp_path))
    assert "refuses a file of that size" in error
    assert str(tmp_path) not in error
    assert (before, number, staged) == ("before", 1, [])


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="limits and modes of POSIX")
def test_a_read_only_folder_can_be_read_and_says_so_when_written() -> None:
    with tempfile.TemporaryDirectory() as root:  # pytest's own folders are closed to other users
        os.chmod(root, 0o755)
        error, before, new = answer(child(READ_ONLY, root))
    assert before == "before"
    for message in (error, new):
        assert "cannot be used; let this process read and write it" in message
        assert root not in message

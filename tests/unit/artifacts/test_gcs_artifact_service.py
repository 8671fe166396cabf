"""What only the service on Cloud Storage has to keep: google-adk's objects, a remote's faults."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from google.api_core.retry import retry_base, retry_unary

from ostinato.artifacts import GcsArtifactService
from ostinato.errors import InputValidationError, MissingExtraError, StoreError
from ostinato.types import Blob, FileData, Part
from tests.unit.artifacts.fake_gcs import FakeBucket, Fault, Stored, gcs_service, serving

S1: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s1"}


@pytest.fixture
def bucket() -> Iterator[FakeBucket]:
    with serving() as found:
        yield found


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited between attempts; it does not wait here."""
    waited: list[float] = []
    clock = SimpleNamespace(sleep=waited.append, monotonic=lambda: sum(waited))
    for module in (retry_base, retry_unary):
        monkeypatch.setattr(module, "time", clock)
    return waited


def text(content: str) -> Part:
    return Part(text=content)


def ways(service: GcsArtifactService) -> list[Callable[[], Awaitable[Any]]]:
    return [
        lambda: service.save_artifact(filename="a", artifact=text("x"), **S1),
        lambda: service.load_artifact(filename="a", **S1),
        lambda: service.load_artifact(filename="a", version=0, **S1),
        lambda: service.list_artifact_keys(**S1),
        lambda: service.list_versions(filename="a", **S1),
        lambda: service.list_artifact_versions(filename="a", **S1),
        lambda: service.get_artifact_version(filename="a", **S1),
        lambda: service.delete_artifact(filename="a", **S1),
    ]


async def test_objects_are_named_as_google_adk_names_them(bucket: FakeBucket) -> None:
    service = gcs_service(bucket)
    png = Part(inline_data=Blob(data=b"x", mime_type="image/png", display_name="shown"))
    for name, part in {"a.txt": text("hi"), "user:pic": png, "d/e f.txt": text("x")}.items():
        await service.save_artifact(
            filename=name, artifact=part, custom_metadata={"k": "v", "n": 1}, **S1
        )
    stored = bucket.objects
    assert list(stored) == [
        *("app/ann/s1/a.txt/0", "app/ann/user/user:pic/0", "app/ann/s1/d/e f.txt/0")
    ]
    assert (stored["app/ann/s1/a.txt/0"].data, stored["app/ann/s1/a.txt/0"].content_type) == (
        b"hi",
        "text/plain",
    )
    picture = stored["app/ann/user/user:pic/0"]
    assert (picture.data, picture.content_type) == (b"x", "image/png")
    assert picture.metadata is not None
    assert {key: picture.metadata[key] for key in ("adkDisplayName", "k", "n")} == {
        "adkDisplayName": "shown",
        "k": "v",
        "n": "1",
    }
    version = await service.get_artifact_version(filename="user:pic", **S1)
    assert version is not None
    assert version.canonical_uri == "gs://bucket/app/ann/user/user:pic/0"
    assert version.custom_metadata == {"k": "v", "n": 1}


async def test_what_google_adk_wrote_is_read(bucket: FakeBucket) -> None:
    """The objects are those that google-adk 2.3.0 writes."""
    for name, data, kind, metadata in [
        ("app/ann/s1/a.txt/0", b"hi", "text/plain", None),
        ("app/ann/s1/a.txt/1", b"two", "text/plain", {"k": "v", "n": "1"}),
        ("app/ann/user/user:pic/0", b"x", "image/png", {"adkDisplayName": "dn"}),
        ("app/ann/s1/nomime/0", b"q", "application/octet-stream", None),
    ]:
        bucket.objects[name] = Stored(name, data, kind, metadata, next(bucket.generations))
    service = gcs_service(bucket)
    assert await service.list_artifact_keys(**S1) == ["a.txt", "nomime", "user:pic"]
    assert await service.load_artifact(filename="a.txt", **S1) == Part(
        inline_data=Blob(data=b"two", mime_type="text/plain")
    )
    assert await service.load_artifact(filename="user:pic", **S1) == Part(
        inline_data=Blob(data=b"x", mime_type="image/png", display_name="dn")
    )
    versions = await service.list_artifact_versions(filename="a.txt", **S1)
    assert [(v.version, v.mime_type, v.custom_metadata) for v in versions] == [
        (0, "text/plain", {}),
        (1, "text/plain", {"k": "v", "n": "1"}),
    ]
    assert await service.save_artifact(filename="a.txt", artifact=text("three"), **S1) == 2


async def test_names_that_begin_alike_are_apart(bucket: FakeBucket) -> None:
    service = gcs_service(bucket)
    for name in ("a", "a/0", "a/1/0", "a%0A0", "a\n0", "a%250A0"):
        await service.save_artifact(filename=name, artifact=text(name), **S1)
    for name in ("a", "a/0", "a/1/0", "a%0A0", "a\n0", "a%250A0"):
        assert await service.list_versions(filename=name, **S1) == [0]
        assert await service.load_artifact(filename=name, **S1) == text(name)
    await service.delete_artifact(filename="a", **S1)
    assert len(bucket.objects) == 5


@pytest.mark.parametrize("session_id", ["user", "%75ser", "a/b", "a%2Fb", "user/user:pic"])
async def test_a_session_s_id_stays_one_segment(bucket: FakeBucket, session_id: str) -> None:
    service = gcs_service(bucket)
    odd: dict[str, Any] = {**S1, "session_id": session_id}
    await service.save_artifact(filename="user:pic", artifact=text("shared"), **S1)
    await service.save_artifact(filename="a", artifact=text("x"), **odd)
    assert await service.list_artifact_keys(**odd) == ["a", "user:pic"]
    assert await service.list_artifact_keys(**S1) == ["user:pic"]
    assert await service.load_artifact(filename="a", **odd) == text("x")
    assert all(name.count("/") == 4 for name in bucket.objects)


async def test_sessions_whose_ids_look_alike_are_apart(bucket: FakeBucket) -> None:
    service = gcs_service(bucket)
    ids = ["user", "%75ser", "a/b", "a%2Fb", "a%252Fb", "%0A"]
    for session_id in ids:
        owner: dict[str, Any] = {**S1, "session_id": session_id}
        assert await service.save_artifact(filename="a", artifact=text(session_id), **owner) == 0
    for session_id in ids:
        loaded = await service.load_artifact(filename="a", **{**S1, "session_id": session_id})
        assert loaded == text(session_id)


async def test_lists_go_over_all_pages() -> None:
    with serving(page_size=2) as bucket:
        service = gcs_service(bucket)
        for n in range(7):
            await service.save_artifact(filename=f"f{n}", artifact=text(str(n)), **S1)
            await service.save_artifact(filename="many", artifact=text(str(n)), **S1)
        assert await service.list_versions(filename="many", **S1) == list(range(7))
        keys = await service.list_artifact_keys(**S1)
        assert keys == [*(f"f{n}" for n in range(7)), "many"]
        bucket.requests.clear()
        await service.delete_artifact(filename="many", **S1)
        assert sum("pageToken" in asked for asked in bucket.requests) == 3
        assert await service.list_artifact_keys(**S1) == keys[:-1]


async def test_a_content_too_large_for_one_request_is_sent_in_its_own(bucket: FakeBucket) -> None:
    data = bytes(9 * 1024 * 1024)
    part = Part(inline_data=Blob(data=data, mime_type="a/b"))
    service = gcs_service(bucket)
    assert await service.save_artifact(filename="big", artifact=part, **S1) == 0
    assert bucket.uploads
    assert bucket.objects["app/ann/s1/big/0"].data == data
    assert await service.list_versions(filename="big", **S1) == [0]


async def test_the_event_loop_is_never_held_up(bucket: FakeBucket) -> None:
    """Each request waits until the loop that asked has run on."""
    ran_on = threading.Event()
    bucket.before = lambda method, path: None if ran_on.wait(60) else pytest.fail("held up")
    service = gcs_service(bucket)
    for way in ways(service):
        ran_on.clear()
        asyncio.get_running_loop().call_later(0.001, ran_on.set)
        await way()
    assert len(bucket.requests) > 8


@pytest.mark.long
def test_threads_with_loops_of_their_own_share_a_service(bucket: FakeBucket) -> None:
    service, saved = gcs_service(bucket), list[tuple[int, str]]()

    def work(thread: int) -> None:
        for n in range(5):
            save = service.save_artifact(filename="a", artifact=text(f"{thread}-{n}"), **S1)
            saved.append((asyncio.run(save), f"{thread}-{n}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number, _ in saved) == list(range(20))
    for number, content in saved:
        assert bucket.objects[f"app/ann/s1/a/{number}"].data.decode() == content


async def test_a_number_that_a_rival_takes_is_passed_over(bucket: FakeBucket) -> None:
    name = "app/ann/s1/a/0"

    def rival(method: str, path: str) -> None:
        if method == "POST" and name not in bucket.objects:
            bucket.objects[name] = Stored(name, b"rival", "text/plain", None, 99)

    bucket.before = rival
    service = gcs_service(bucket)
    assert await service.save_artifact(filename="a", artifact=text("x"), **S1) == 1
    assert bucket.objects[name].data == b"rival"


async def test_an_upload_whose_answer_is_lost_is_not_stored_twice(
    bucket: FakeBucket, pauses: list[float]
) -> None:
    bucket.faults.append(Fault("POST", "/upload/", status=0, late=True))
    service = gcs_service(bucket)
    assert await service.save_artifact(filename="a", artifact=text("x"), **S1) == 0
    assert list(bucket.objects) == ["app/ann/s1/a/0"]
    assert sum(asked.startswith("POST") for asked in bucket.requests) == 2
    assert len(pauses) == 1


@pytest.mark.parametrize("status", [0, 429, 500, 503])
@pytest.mark.parametrize("way", range(8))
async def test_a_fault_that_passes_is_not_seen(
    bucket: FakeBucket, pauses: list[float], status: int, way: int
) -> None:
    service = gcs_service(bucket)
    await service.save_artifact(filename="a", artifact=text("x"), **S1)
    bucket.faults += [Fault(method, "", status, 2) for method in ("GET", "POST", "DELETE")]
    await ways(service)[way]()
    assert len(pauses) in (2, 4)


@pytest.mark.parametrize("way", range(8))
async def test_a_fault_that_stays_is_an_error_within_a_minute(
    bucket: FakeBucket, pauses: list[float], way: int
) -> None:
    bucket.faults += [Fault(method, "", 503, 10_000) for method in ("GET", "POST")]
    with pytest.raises(StoreError, match="'bucket' did not answer in 30 s") as caught:
        await ways(gcs_service(bucket))[way]()
    assert bucket.url not in str(caught.value)
    assert 0 < sum(pauses) <= 60


@pytest.mark.parametrize("way", range(8))
async def test_a_bucket_that_is_not_there_is_named(bucket: FakeBucket, way: int) -> None:
    bucket.name = "elsewhere"
    service = gcs_service(bucket)
    bucket.name = "bucket"
    with pytest.raises(StoreError, match="'elsewhere' does not exist; make it"):
        await ways(service)[way]()


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "application-default login"), (403, "role Storage Object User")]
)
@pytest.mark.parametrize("way", range(8))
async def test_an_account_that_is_refused_is_told_what_it_needs(
    bucket: FakeBucket, status: int, remedy: str, way: int
) -> None:
    bucket.faults += [Fault("GET", "", status, 9)]
    with pytest.raises(StoreError, match=remedy):
        await ways(gcs_service(bucket))[way]()


async def test_a_request_that_is_refused_says_how(bucket: FakeBucket) -> None:
    bucket.faults += [Fault("GET", "", 400)]
    with pytest.raises(StoreError, match="refused the request: HTTP 400"):
        await gcs_service(bucket).list_artifact_keys(**S1)


async def test_content_that_was_damaged_on_the_way_is_not_handed_out(bucket: FakeBucket) -> None:
    service = gcs_service(bucket)
    await service.save_artifact(filename="a", artifact=text("right"), **S1)
    bucket.checksum_of = b"other"
    with pytest.raises(StoreError, match="otherwise than Cloud Storage does: DataCorruption"):
        await service.load_artifact(filename="a", **S1)


async def test_a_service_that_nobody_answers_is_an_error(pauses: list[float]) -> None:
    with serving() as bucket:
        service = gcs_service(bucket)
    with pytest.raises(StoreError, match="did not answer"):
        await service.list_artifact_keys(**S1)


async def test_credentials_that_are_not_there_are_asked_for(
    bucket: FakeBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
    service = GcsArtifactService("bucket")
    with pytest.raises(StoreError, match="gcloud auth application-default login") as caught:
        await service.list_artifact_keys(**S1)
    assert "/nowhere" not in str(caught.value)


async def test_versions_removed_in_between_are_absent(bucket: FakeBucket) -> None:
    service = gcs_service(bucket)
    for content in "12":
        await service.save_artifact(filename="a", artifact=text(content), **S1)

    def remove(method: str, path: str) -> None:
        if path.startswith("/download") or method == "DELETE":
            bucket.objects.clear()

    bucket.before = remove
    assert await service.load_artifact(filename="a", **S1) is None
    await service.save_artifact(filename="a", artifact=text("3"), **S1)
    await service.delete_artifact(filename="a", **S1)
    assert bucket.objects == {}


async def test_the_oldest_version_goes_first(bucket: FakeBucket) -> None:
    """So that a removal that is cut short never brings an older version back."""
    service = gcs_service(bucket)
    for n in range(11):
        await service.save_artifact(filename="a", artifact=text(str(n)), **S1)
    bucket.faults.append(Fault("DELETE", "/a/2", 403))
    with pytest.raises(StoreError, match="role"):
        await service.delete_artifact(filename="a", **S1)
    assert await service.list_versions(filename="a", **S1) == list(range(2, 11))
    assert await service.load_artifact(filename="a", **S1) == text("10")


async def test_a_reference_is_stored_without_content(bucket: FakeBucket) -> None:
    service = gcs_service(bucket)
    part = Part(file_data=FileData(file_uri="gs://b/x.png", mime_type="image/png"))
    await service.save_artifact(filename="a", artifact=part, **S1)
    bucket.requests.clear()
    assert await service.load_artifact(filename="a", **S1) == part
    assert not any("/download/" in asked for asked in bucket.requests)


@pytest.mark.parametrize("key", ["", "ostinato", "adkDisplayName"])
async def test_metadata_keys_that_are_taken_are_refused(bucket: FakeBucket, key: str) -> None:
    with pytest.raises(InputValidationError, match=repr(key)):
        await gcs_service(bucket).save_artifact(
            filename="a", artifact=text("x"), custom_metadata={key: "v"}, **S1
        )
    assert bucket.requests == []


async def test_metadata_and_names_that_do_not_fit_are_refused(bucket: FakeBucket) -> None:
    service = gcs_service(bucket)
    with pytest.raises(InputValidationError, match="8192"):
        await service.save_artifact(
            filename="a", artifact=text("x"), custom_metadata={"k": "é" * 4096}, **S1
        )
    long: dict[str, Any] = {"app_name": "你" * 100, "user_id": "你" * 100, "session_id": "你" * 100}
    with pytest.raises(InputValidationError, match="1024"):
        await service.save_artifact(filename="你" * 50, artifact=text("x"), **long)
    assert bucket.requests == []


@pytest.mark.parametrize("own", ["", "{", "[]", "{}", json.dumps({"kind": "text"})])
async def test_damaged_metadata_is_a_typed_error(bucket: FakeBucket, own: str) -> None:
    name = "app/ann/s1/a/0"
    bucket.objects[name] = Stored(name, b"x", "text/plain", {"ostinato": own}, 1)
    service = gcs_service(bucket)
    for call in (service.load_artifact, service.get_artifact_version):
        with pytest.raises(StoreError, match="damaged"):
            await call(filename="a", **S1)


@pytest.mark.parametrize("name", ["", "gs://bucket", "bucket/folder"])
def test_the_bucket_must_be_named(name: str) -> None:
    with pytest.raises(InputValidationError, match="name of a bucket"):
        GcsArtifactService(name)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud.storage", None)
    with pytest.raises(MissingExtraError, match=r"ostinato\[gcs\]"):
        GcsArtifactService("bucket")


async def test_a_closed_service_opens_again(bucket: FakeBucket) -> None:
    service = gcs_service(bucket)
    await service.close()
    await service.save_artifact(filename="a", artifact=text("x"), **S1)
    await service.close()
    assert await service.load_artifact(filename="a", **S1) == text("x")

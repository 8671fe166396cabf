"""Stores of eval sets and results: one contract for files, memory and buckets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato.errors import InputValidationError, NotFoundError
from ostinato.evaluation import _gcs_bucket
from ostinato.evaluation.eval_metrics import EvalStatus
from ostinato.evaluation.eval_result import EvalCaseResult
from ostinato.evaluation.gcs_eval_set_results_manager import GcsEvalSetResultsManager
from ostinato.evaluation.gcs_eval_sets_manager import GcsEvalSetsManager
from ostinato.evaluation.in_memory_eval_set_results_manager import InMemoryEvalSetResultsManager
from ostinato.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from ostinato.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from ostinato.evaluation.local_eval_sets_manager import LocalEvalSetsManager
from ostinato.evaluation.storage import create_gcs_eval_managers_from_uri

from .builders import case, turn


class FakeBlob:
    """An object of a bucket, as google-cloud-storage shows it."""

    def __init__(self, bucket: FakeBucket, name: str) -> None:
        self.bucket, self.name = bucket, name

    def exists(self) -> bool:
        return self.name in self.bucket.texts

    def download_as_text(self) -> str:
        return self.bucket.texts[self.name]

    def upload_from_string(self, data: str, content_type: str) -> None:
        assert content_type == "application/json"
        self.bucket.texts[self.name] = data


class FakeBucket:
    """A bucket in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.is_there = True

    def exists(self) -> bool:
        return self.is_there

    def blob(self, name: str) -> FakeBlob:
        return FakeBlob(self, name)

    def list_blobs(self, prefix: str) -> list[FakeBlob]:
        return [self.blob(name) for name in sorted(self.texts) if name.startswith(prefix)]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> FakeBucket:
    made = FakeBucket()
    client = SimpleNamespace(bucket=lambda name: made)
    storage = SimpleNamespace(Client=lambda **options: client)
    monkeypatch.setattr(_gcs_bucket, "need", lambda name, extra: storage)
    return made


KINDS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]] = {
    "local": (
        lambda path: LocalEvalSetsManager(str(path)),
        lambda path: LocalEvalSetResultsManager(str(path)),
    ),
    "memory": (lambda _: InMemoryEvalSetsManager(), lambda _: InMemoryEvalSetResultsManager()),
    "gcs": (lambda _: GcsEvalSetsManager("b"), lambda _: GcsEvalSetResultsManager("b")),
}


@pytest.fixture(params=list(KINDS))
def stores(request: Any, tmp_path: Path, bucket: FakeBucket) -> tuple[Any, Any]:
    (tmp_path / "app").mkdir()
    make_sets, make_results = KINDS[request.param]
    return make_sets(tmp_path), make_results(tmp_path)


def test_a_set_is_created_filled_and_listed(stores: tuple[Any, Any]) -> None:
    sets, _ = stores
    assert sets.get_eval_set("app", "one") is None
    sets.create_eval_set("app", "one")
    sets.add_eval_case("app", "one", case("a", turn("hi")))
    sets.add_eval_case("app", "one", case("b", turn("ho")))
    sets.update_eval_case("app", "one", case("a", turn("changed")))
    assert sets.list_eval_sets("app") == ["one"]
    read = sets.get_eval_set("app", "one")
    assert [one.eval_id for one in read.eval_cases] == ["a", "b"]
    found = sets.get_eval_case("app", "one", "a")
    assert found.conversation[0].user_content.parts[0].text == "changed"
    sets.delete_eval_case("app", "one", "a")
    assert sets.get_eval_case("app", "one", "a") is None


def test_what_exists_or_is_missing_is_refused(stores: tuple[Any, Any]) -> None:
    sets, _ = stores
    sets.create_eval_set("app", "one")
    sets.add_eval_case("app", "one", case("a", turn("hi")))
    with pytest.raises(ValueError, match=r"EvalSet .* already exists for app"):
        sets.create_eval_set("app", "one")
    with pytest.raises(ValueError, match="Eval id `a` already exists in"):
        sets.add_eval_case("app", "one", case("a", turn("hi")))
    for change in (
        lambda: sets.add_eval_case("app", "two", case("a", turn("hi"))),
        lambda: sets.update_eval_case("app", "one", case("x", turn("hi"))),
        lambda: sets.delete_eval_case("app", "one", "x"),
    ):
        with pytest.raises(NotFoundError):
            change()


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_changes_at_once_lose_no_case(kind: str, tmp_path: Path) -> None:
    make_sets, _ = KINDS[kind]
    make_sets(tmp_path).create_eval_set("app", "one")
    shared = make_sets(tmp_path)
    if kind == "memory":
        shared.create_eval_set("app", "one")
    for number in range(10):
        shared.add_eval_case("app", "one", case(f"old{number}", turn("hi")))

    def change(number: int) -> None:
        # as in a server: one manager for each request
        sets = make_sets(tmp_path) if kind == "local" else shared
        sets.add_eval_case("app", "one", case(f"new{number}", turn("hi")))
        sets.update_eval_case("app", "one", case(f"new{number}", turn("changed")))
        sets.delete_eval_case("app", "one", f"old{number}")

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(change, range(10)))
    cases = shared.get_eval_set("app", "one").eval_cases
    assert sorted(one.eval_id for one in cases) == sorted(f"new{n}" for n in range(10))
    assert {one.conversation[0].user_content.parts[0].text for one in cases} == {"changed"}


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_set_is_created_once(kind: str, tmp_path: Path) -> None:
    sets, start = KINDS[kind][0](tmp_path), Barrier(10)

    def create(_: int) -> bool:
        start.wait()
        try:
            sets.create_eval_set("app", "one")
        except ValueError:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(create, range(10))) == 1


def test_a_change_in_an_app_without_a_folder_makes_none(tmp_path: Path) -> None:
    sets = LocalEvalSetsManager(str(tmp_path))
    with pytest.raises(NotFoundError, match="no folder of the app 'app'"):
        sets.add_eval_case("app", "one", case("a", turn("hi")))
    assert list(tmp_path.iterdir()) == []


def result_of(eval_id: str) -> EvalCaseResult:
    return EvalCaseResult(
        eval_set_id="one",
        eval_id=eval_id,
        final_eval_status=EvalStatus.PASSED,
        overall_eval_metric_results=[],
        eval_metric_result_per_invocation=[],
        session_id="s",
        error_message="not in the file",
    )


def test_results_are_stored_and_read(stores: tuple[Any, Any]) -> None:
    _, results = stores
    assert results.list_eval_set_results("app") == []
    results.save_eval_set_result("app", "one", [result_of("a"), result_of("b")])
    (key,) = results.list_eval_set_results("app")
    assert key.startswith("app_one_")
    read = results.get_eval_set_result("app", key)
    assert [one.eval_id for one in read.eval_case_results] == ["a", "b"]
    with pytest.raises(NotFoundError):
        results.get_eval_set_result("app", "nothing")


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b"])
def test_ids_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    sets = LocalEvalSetsManager(str(tmp_path))
    with pytest.raises(InputValidationError, match="Invalid"):
        sets.create_eval_set("app", name)
    with pytest.raises(InputValidationError, match="Invalid"):
        sets.get_eval_set(name, "one")
    assert list(tmp_path.iterdir()) == []


def test_a_result_file_is_private_and_may_be_double_encoded(tmp_path: Path) -> None:
    store = LocalEvalSetResultsManager(str(tmp_path))
    store.save_eval_set_result("app", "a/b", [result_of("a")])
    (file,) = (tmp_path / "app" / ".adk" / "eval_history").iterdir()
    assert file.name.startswith("app_a_b_") and file.name.endswith(".evalset_result.json")
    assert file.stat().st_mode & 0o077 == 0
    text = file.read_text()
    assert '"final_eval_status": 1' in text and "not in the file" not in text
    file.write_text(__import__("json").dumps(text))
    (key,) = store.list_eval_set_results("app")
    assert store.get_eval_set_result("app", key).eval_set_id == "a/b"


def test_an_app_without_a_folder_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no folder of the app 'app'"):
        LocalEvalSetsManager(str(tmp_path)).list_eval_sets("app")


def test_a_bucket_is_named_by_its_uri(bucket: FakeBucket) -> None:
    managers = create_gcs_eval_managers_from_uri("gs://b/")
    managers.eval_sets_manager.create_eval_set("app", "one")
    assert list(bucket.texts) == ["app/evals/eval_sets/one.evalset.json"]
    with pytest.raises(InputValidationError, match="gs://BUCKET"):
        create_gcs_eval_managers_from_uri("s3://b")
    bucket.is_there = False
    with pytest.raises(InputValidationError, match="does not exist"):
        create_gcs_eval_managers_from_uri("gs://b")

"""Artifact URIs, apart and together."""

import pytest

from ostinato.artifacts.artifact_util import get_artifact_uri, is_artifact_ref, parse_artifact_uri
from ostinato.types import FileData, Part


@pytest.mark.parametrize(
    ("pieces", "uri"),
    [
        (("a", "u", "s", "x", 3), "artifact://apps/a/users/u/sessions/s/artifacts/x/versions/3"),
        (("a", "u", None, "user:x", 0), "artifact://apps/a/users/u/artifacts/user:x/versions/0"),
        (
            ("a", "u", "s", "d/versions/1", 12),
            "artifact://apps/a/users/u/sessions/s/artifacts/d/versions/1/versions/12",
        ),
        (
            ("a%2F", "u", "s", "two words", 1),
            "artifact://apps/a%2F/users/u/sessions/s/artifacts/two words/versions/1",
        ),
    ],
)
def test_uri_apart_and_together(pieces: tuple[str, str, str | None, str, int], uri: str) -> None:
    app_name, user_id, session_id, filename, version = pieces
    assert get_artifact_uri(app_name, user_id, filename, version, session_id) == uri
    assert parse_artifact_uri(uri) == pieces


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "gs://x",
        "artifact://bad",
        "artifact://apps/a/users/u/sessions/s/artifacts/x",
        "artifact://apps/a/users/u/sessions/s/artifacts/x/versions/last",
    ],
)
def test_other_uris_are_none(uri: str) -> None:
    assert parse_artifact_uri(uri) is None


def test_is_artifact_ref() -> None:
    assert is_artifact_ref(Part(file_data=FileData(file_uri="artifact://x")))
    assert not is_artifact_ref(Part(file_data=FileData(file_uri="gs://x")))
    assert not is_artifact_ref(Part(text="artifact://x"))

"""Artifact references: `artifact://` addresses that make one artifact stand for another.

Users build them with `get_artifact_uri`; the artifact services follow them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ostinato.artifacts._address import Address
from ostinato.types import Part

_SCHEME = "artifact://"
_URI = re.compile(
    r"artifact://apps/([^/]+)/users/([^/]+)/(?:sessions/([^/]+)/)?artifacts/(.+)/versions/(\d+)",
    re.DOTALL,
)


class ParsedArtifactUri(NamedTuple):
    """The pieces of an artifact URI; `session_id` is None for artifacts of the user."""

    app_name: str
    user_id: str
    session_id: str | None
    filename: str
    version: int


def parse_artifact_uri(uri: str) -> ParsedArtifactUri | None:
    """The pieces of `uri`, None if it is not the full URI of one version of an artifact."""
    match = _URI.fullmatch(uri)
    if match is None:
        return None
    app_name, user_id, session_id, filename, version = match.groups()
    return ParsedArtifactUri(app_name, user_id, session_id, filename, int(version))


def get_artifact_uri(
    app_name: str, user_id: str, filename: str, version: int, session_id: str | None = None
) -> str:
    """The URI of one version of an artifact; without `session_id`, of an artifact of the user."""
    address = Address(app_name, user_id, session_id, filename)
    return f"{_SCHEME}{address.path}/versions/{version}"


def is_artifact_ref(artifact: Part) -> bool:
    """Return whether the part refers to another artifact."""
    file_data = artifact.file_data
    return bool(file_data and file_data.file_uri and file_data.file_uri.startswith(_SCHEME))

"""Endpoints of a session's artifacts and their versions."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, Field

from ..artifacts.base_artifact_service import ArtifactVersion
from ..sessions.store.durable_store import Place
from ..types import Part
from .endpoint import SESSION_PATH, Call, Endpoint
from .names import FileName
from .place import load_outline, session_not_found
from .problems import Problem, invalid_input
from .runs import WireRecord

# File names that a route would confuse with the versions of another file.
_VERSION_PATH = re.compile(r".+/versions(?:/[^/]+(?:/metadata)?)?", re.DOTALL)


class SaveArtifactRequest(WireRecord):
    """A file to keep as a new version."""

    filename: FileName
    artifact: Part
    custom_metadata: dict[str, Any] | None = None


class VersionQuery(BaseModel):
    """Which version; the newest where none is named."""

    version: int | None = Field(default=None, ge=0)


def _file_names(call: Call) -> dict[str, Any]:
    return {**call.read_place()._asdict(), "filename": call.path["name"]}


def _read_version(call: Call) -> int:
    text = call.path["version"]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Problem(422, "ValidationError", f"A version is a number, not {text[:40]!r}.")
    return int(text)


async def _need_place(call: Call) -> Place:
    place = call.read_place()
    await call.host.agents.get_app(place.app_name)
    if await load_outline(call.host.services.sessions, place) is None:
        raise session_not_found()
    return place


async def list_artifacts(call: Call) -> list[str]:
    """List the names of a session's artifacts."""
    return await call.host.services.artifacts.list_artifact_keys(**call.read_place()._asdict())


async def save_artifact(call: Call) -> ArtifactVersion:
    """Store a new version of a file."""
    place, body = await _need_place(call), call.body
    if _VERSION_PATH.fullmatch(body.filename):
        raise invalid_input(
            f"The name {body.filename[:40]!r} is the path of the versions of another file; choose "
            "a name without '/versions' after a file name."
        )
    service = call.host.services.artifacts
    names = {**place._asdict(), "filename": body.filename}
    version = await service.save_artifact(
        **names, artifact=body.artifact, custom_metadata=body.custom_metadata
    )
    kept = await service.get_artifact_version(**names, version=version)
    if kept is None:
        raise Problem(409, "StaleSessionError", "The file was deleted in the meantime.")
    return _hide_path(kept)


def _hide_path(version: ArtifactVersion) -> ArtifactVersion:
    """Return the version without the file's location on disk."""
    if not version.canonical_uri.startswith("file:"):
        return version
    path = version.canonical_uri.partition("/artifacts/")[2]
    return version.model_copy(update={"canonical_uri": f"artifact:///{path}"})


async def load_artifact(call: Call) -> Part:
    """Return a file's content."""
    return await _load_part(call, call.query.version)


async def load_version(call: Call) -> Part:
    """Return the content of one version."""
    return await _load_part(call, _read_version(call))


async def _load_part(call: Call, version: int | None) -> Part:
    part = await call.host.services.artifacts.load_artifact(**_file_names(call), version=version)
    if part is None:
        raise Problem(404, "NotFoundError", "Artifact not found")
    return part


async def delete_artifact(call: Call) -> None:
    """Delete all versions of a file."""
    await call.host.services.artifacts.delete_artifact(**_file_names(call))


async def list_versions(call: Call) -> list[int]:
    """List the version numbers of a file."""
    return await call.host.services.artifacts.list_versions(**_file_names(call))


async def list_version_metadata(call: Call) -> list[ArtifactVersion]:
    """Return the metadata of all versions of a file."""
    found = await call.host.services.artifacts.list_artifact_versions(**_file_names(call))
    return [_hide_path(one) for one in found]


async def get_version_metadata(call: Call) -> ArtifactVersion:
    """Return the metadata of one version of a file."""
    found = await call.host.services.artifacts.get_artifact_version(
        **_file_names(call), version=_read_version(call)
    )
    if found is None:
        raise Problem(404, "NotFoundError", "Artifact version not found")
    return _hide_path(found)


_ALL = f"{SESSION_PATH}/artifacts"
_ONE = _ALL + "/{name:path}"

# File names may contain slashes, so the longest paths come first.
ENDPOINTS = (
    Endpoint("GET", _ALL, "List a session's files", list_artifacts, answer=list[str]),
    Endpoint(
        "POST",
        _ALL,
        "Keep a new version of a file",
        save_artifact,
        body=SaveArtifactRequest,
        answer=ArtifactVersion,
        upload=True,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/versions/metadata",
        "Tell what is known about all versions of a file",
        list_version_metadata,
        answer=list[ArtifactVersion],
    ),
    Endpoint(
        "GET",
        f"{_ONE}/versions/{{version}}/metadata",
        "Tell what is known about a version of a file",
        get_version_metadata,
        answer=ArtifactVersion,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/versions/{{version}}",
        "Return a version of a file",
        load_version,
        answer=Part,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/versions",
        "List the versions of a file",
        list_versions,
        answer=list[int],
    ),
    Endpoint("GET", _ONE, "Return a file", load_artifact, query=VersionQuery, answer=Part),
    Endpoint("DELETE", _ONE, "Delete a file with all its versions", delete_artifact),
)

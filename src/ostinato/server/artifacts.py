"""Endpoints of a session's files, in versions."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ..artifacts.base_artifact_service import ArtifactVersion
from ..sessions._durable_store import Place
from ..types import Part
from .endpoint import Call, Endpoint
from .place import no_session, outline
from .problems import Problem
from .runs import Wire


class SaveArtifactRequest(Wire):
    """A file to keep as a new version."""

    filename: str
    artifact: Part
    custom_metadata: dict[str, Any] | None = None


class VersionQuery(BaseModel):
    """Which version; the newest where none is named."""

    version: int | None = Field(default=None, ge=0)


def _names(place: Place) -> dict[str, str]:
    return place._asdict()


def _file(call: Call) -> dict[str, Any]:
    return {**_names(call.place()), "filename": call.path["name"]}


def _version(call: Call) -> int:
    text = call.path["version"]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Problem(422, "ValidationError", f"A version is a number, not {text[:40]!r}.")
    return int(text)


async def _known(call: Call) -> Place:
    place = call.place()
    await call.host.agents.get(place.app_name)
    if await outline(call.host.services.sessions, place) is None:
        raise no_session(place)
    return place


async def names(call: Call) -> list[str]:
    """List the names."""
    return await call.host.services.artifacts.list_artifact_keys(**_names(call.place()))


async def save(call: Call) -> ArtifactVersion:
    """Keep a new version."""
    place, body = await _known(call), call.body
    service = call.host.services.artifacts
    names = {**_names(place), "filename": body.filename}
    version = await service.save_artifact(
        **names, artifact=body.artifact, custom_metadata=body.custom_metadata
    )
    kept = await service.get_artifact_version(**names, version=version)
    if kept is None:
        raise Problem(409, "StaleSessionError", "The file was deleted just now.")
    return _public(kept)


def _public(version: ArtifactVersion) -> ArtifactVersion:
    """Leave out where on the disk a file is."""
    if not version.canonical_uri.startswith("file:"):
        return version
    path = version.canonical_uri.partition("/artifacts/")[2]
    return version.model_copy(update={"canonical_uri": f"artifact:///{path}"})


async def load(call: Call) -> Part:
    """Return a file's content."""
    return await _load(call, call.query.version)


async def load_version(call: Call) -> Part:
    """Return the content of one version."""
    return await _load(call, _version(call))


async def _load(call: Call, version: int | None) -> Part:
    part = await call.host.services.artifacts.load_artifact(**_file(call), version=version)
    if part is None:
        raise Problem(404, "NotFoundError", "Artifact not found")
    return part


async def delete(call: Call) -> None:
    """Delete all versions of a file."""
    await call.host.services.artifacts.delete_artifact(**_file(call))


async def versions(call: Call) -> list[int]:
    """List the numbers of the versions."""
    return await call.host.services.artifacts.list_versions(**_file(call))


async def versions_metadata(call: Call) -> list[ArtifactVersion]:
    """Tell what is known about all versions."""
    found = await call.host.services.artifacts.list_artifact_versions(**_file(call))
    return [_public(one) for one in found]


async def version_metadata(call: Call) -> ArtifactVersion:
    """Tell what is known about a version."""
    found = await call.host.services.artifacts.get_artifact_version(
        **_file(call), version=_version(call)
    )
    if found is None:
        raise Problem(404, "NotFoundError", "Artifact version not found")
    return _public(found)


_ALL = "/apps/{app}/users/{user}/sessions/{session}/artifacts"
_ONE = _ALL + "/{name:path}"
_BAD = (404, 503)

# Names may hold slashes, so that the longest paths come first.
ENDPOINTS = (
    Endpoint("GET", _ALL, "List a session's files", names, answer=list[str], problems=_BAD),
    Endpoint(
        "POST",
        _ALL,
        "Keep a new version of a file",
        save,
        body=SaveArtifactRequest,
        answer=ArtifactVersion,
        problems=_BAD,
        upload=True,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/versions/metadata",
        "Tell what is known about all versions of a file",
        versions_metadata,
        answer=list[ArtifactVersion],
        problems=_BAD,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/versions/{{version}}/metadata",
        "Tell what is known about a version of a file",
        version_metadata,
        answer=ArtifactVersion,
        problems=_BAD,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/versions/{{version}}",
        "Return a version of a file",
        load_version,
        answer=Part,
        problems=_BAD,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/versions",
        "List the versions of a file",
        versions,
        answer=list[int],
        problems=_BAD,
    ),
    Endpoint("GET", _ONE, "Return a file", load, query=VersionQuery, answer=Part, problems=_BAD),
    Endpoint("DELETE", _ONE, "Delete a file with all its versions", delete, problems=_BAD),
)

"""The base of Ostinato's artifact services: references, parts as bytes, and work in threads.

A reference stays within the scope of its artifact, and chains of them are bounded: a user who could
point at another user's artifact could read it. Services that store bytes keep a part's content
apart, because bytes inside JSON would be a third longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from ostinato.artifacts._address import Address, Scope, locate, scope_of
from ostinato.artifacts.artifact_util import is_artifact_ref, parse_artifact_uri
from ostinato.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    copy_metadata,
    ensure_part,
)
from ostinato.errors import InputValidationError
from ostinato.types import Part

_MAX_HOPS = 5

_P = ParamSpec("_P")
_R = TypeVar("_R")


def find_target(reference: Part, source: Address) -> tuple[Address, int]:
    """The address and version that the artifact at `source` refers to.

    Raises:
        InputValidationError: the URI is not that of an artifact's version, or it belongs to another
            app, user or session.
    """
    uri = (reference.file_data and reference.file_data.file_uri) or ""
    parsed = parse_artifact_uri(uri)
    if parsed is None:
        raise InputValidationError(
            f"Artifact {source.filename!r} refers to {uri!r}, which names no artifact version; "
            "build references with ostinato.artifacts.artifact_util.get_artifact_uri."
        )
    target = locate(parsed.app_name, parsed.user_id, parsed.session_id, parsed.filename)
    same_owner = (target.app_name, target.user_id) == (source.app_name, source.user_id)
    if not same_owner or target.session_id not in (None, source.session_id):
        raise InputValidationError(
            f"Artifact {source.filename!r} refers to {uri!r}, outside its own app, user or "
            "session. Save a copy there, or use a 'user:' name to share it among sessions."
        )
    return target, parsed.version


async def load_resolved(
    read: Callable[[Address, int | None], Awaitable[Part | None]],
    address: Address,
    version: int | None,
) -> Part | None:
    """What `read` finds at `address`, or at the end of the references that start there.

    Raises:
        InputValidationError: see `find_target`; or there are more than 5 references in a row.
    """
    place, number = address, version
    for _ in range(_MAX_HOPS + 1):
        part = await read(place, number)
        if part is None or not is_artifact_ref(part):
            return part
        place, number = find_target(part, place)
    raise InputValidationError(
        f"Artifact {address.filename!r} starts a chain of more than {_MAX_HOPS} references, or a "
        "circle; save the content itself."
    )


ContentKind: TypeAlias = Literal["text", "data"] | None


class StoredPart(NamedTuple):
    """A part taken apart: the field its content goes back to, its other fields, its content."""

    kind: ContentKind
    fields: dict[str, Any]
    content: bytes


def take_apart(part: Part) -> StoredPart:
    """The part's content as bytes, and the rest of it as JSON."""
    if part.inline_data is None:
        kind: ContentKind = None if part.text is None else "text"
        bare = part.model_copy(update={"text": None})
        content = (part.text or "").encode("utf-8")
    else:
        kind = "data"
        blob = part.inline_data.model_copy(update={"data": None})
        bare = part.model_copy(update={"inline_data": blob})
        content = part.inline_data.data or b""
    return StoredPart(kind, bare.model_dump(mode="json", by_alias=True, exclude_none=True), content)


def put_together(stored: StoredPart) -> Part:
    """The part that was taken apart.

    Raises:
        ValueError: the fields are no part, or the content is no text where it should be.
    """
    part = Part.model_validate(stored.fields)
    if stored.kind == "text":
        part.text = stored.content.decode("utf-8")
    elif stored.kind == "data" and part.inline_data is not None:
        part.inline_data.data = stored.content
    return part


class ArtifactStore(Protocol):
    """Where versions of artifacts are kept; a version of None is the latest."""

    def write(self, address: Address, part: Part, custom_metadata: dict[str, Any], /) -> int:
        """Store a new version and return its number."""
        ...

    def read(self, address: Address, version: int | None, /) -> Part | None:
        """Return the content of a version, or None if it does not exist."""
        ...

    def names(self, scope: Scope, /) -> Iterable[str]:
        """Return the names of all artifacts of one scope, in any order."""
        ...

    def remove(self, address: Address, /) -> None:
        """Remove all versions, if there are any."""
        ...

    def versions(self, address: Address, /) -> list[int]:
        """Return the numbers of all versions, rising."""
        ...

    def describe(self, address: Address, version: int | None, /) -> ArtifactVersion | None:
        """Return the description of a version, or None if it does not exist."""
        ...

    def describe_all(self, address: Address, /) -> list[ArtifactVersion]:
        """Return the descriptions of all versions, rising."""
        ...


class StoredArtifactService(BaseArtifactService):
    """Artifact service over an `ArtifactStore`; all work of the store runs in threads."""

    _store: ArtifactStore

    async def _run_work(self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await asyncio.to_thread(work, *args, **kwargs)

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Store a new version; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        part = ensure_part(artifact).model_copy(deep=True)
        if is_artifact_ref(part):
            find_target(part, address)
        metadata = copy_metadata(custom_metadata, filename)
        return await self._run_work(self._store.write, address, part, metadata)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """Return the content of one version; see `BaseArtifactService`."""

        async def read(address: Address, version: int | None) -> Part | None:
            return await self._run_work(self._store.read, address, version)

        return await load_resolved(read, locate(app_name, user_id, session_id, filename), version)

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """Return the names in session and user scope, sorted; see `BaseArtifactService`."""
        scopes = {scope_of(app_name, user_id, session_id), (app_name, user_id, None)}

        def names() -> list[str]:
            return sorted(name for scope in scopes for name in self._store.names(scope))

        return await self._run_work(names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Remove all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        await self._run_work(self._store.remove, address)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """Return the numbers of all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await self._run_work(self._store.versions, address)

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """Return the descriptions of all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await self._run_work(self._store.describe_all, address)

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """Return the description of one version; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await self._run_work(self._store.describe, address, version)

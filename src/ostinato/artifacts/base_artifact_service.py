"""The port of artifact storage: a user's named files, in versions that never change."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ostinato._clock import now
from ostinato.errors import InputValidationError
from ostinato.types import Part


class ArtifactVersion(BaseModel):
    """What is known about one version of an artifact, without its content.

    `version` counts from 0, `create_time` is in seconds since 1970, `canonical_uri` says where the
    service keeps it.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)

    version: int
    canonical_uri: str
    custom_metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    create_time: float = Field(default_factory=now)
    mime_type: str | None = None


class BaseArtifactService(ABC):
    """Saves and loads artifacts (Spec 3, "Services").

    A name that starts with `user:` belongs to the user and is seen from every session; any other
    name belongs to one session and needs its `session_id`. Names are relative, of at most 200
    characters, may hold `/`, and never `..`; every method raises InputValidationError for others.
    """

    @abstractmethod
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
        """Store a new version.

        Args:
            app_name: the app.
            user_id: the user.
            filename: the artifact's name.
            artifact: a part that holds text, inline data or file data, or its JSON.
            session_id: the session, unless the name starts with `user:`.
            custom_metadata: JSON values to keep with this version.

        Returns:
            The number of the new version: 0 for the first.

        Raises:
            InputValidationError: the part holds none of these, refers to an artifact of another
                owner, or the metadata is not JSON.
        """

    @abstractmethod
    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """The content of one version, the latest by default; None if there is no such version.

        A part that refers to another artifact is followed to that artifact's content.
        """

    @abstractmethod
    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """The names, sorted, of the user's artifacts and, given a session, of the session's."""

    @abstractmethod
    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Remove all versions; no error if there are none. Numbers start from 0 again."""

    @abstractmethod
    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The numbers of all versions, rising."""

    @abstractmethod
    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """What is known about all versions, oldest first."""

    @abstractmethod
    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """What is known about one version, the latest by default; None if there is no such one."""


def ensure_part(artifact: object) -> Part:
    """The artifact as a Part: a Part itself, its JSON, or the like-named object of google-genai.

    Raises:
        InputValidationError: it is something else, such as a bare string or bytes.
        pydantic.ValidationError: a mapping that is no Part.
    """
    if isinstance(artifact, Part):
        return artifact
    if isinstance(artifact, (Mapping, BaseModel)):
        return Part.model_validate(artifact)
    raise InputValidationError(
        f"An artifact must be a Part or its JSON, not {type(artifact).__name__}; use "
        "Part.from_text(text=...) or Part.from_bytes(data=..., mime_type=...)."
    )


def find_mime_type(artifact: Part, filename: str) -> str | None:
    """Return the part's media type: `text/plain` for text, or None if the part has none.

    Raises:
        InputValidationError: the part holds nothing that can be kept.
    """
    if artifact.inline_data is not None:
        return artifact.inline_data.mime_type
    if artifact.file_data is not None:
        return artifact.file_data.mime_type
    if artifact.text is not None:
        return "text/plain"
    raise InputValidationError(
        f"Artifact {filename!r} holds neither text nor inline data nor file data; use "
        "Part.from_text(text=...) or Part.from_bytes(data=..., mime_type=...)."
    )


def copy_metadata(custom_metadata: Mapping[str, Any] | None, filename: str) -> dict[str, Any]:
    """A copy of the metadata as JSON gives it back.

    Raises:
        InputValidationError: it is not JSON.
    """
    try:
        return json.loads(json.dumps(custom_metadata or {}))
    except (TypeError, ValueError) as error:
        raise InputValidationError(
            f"custom_metadata of artifact {filename!r} is not JSON: {error}"
        ) from error

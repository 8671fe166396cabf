"""Artifacts kept in a bucket of Google Cloud Storage: for many machines."""

from __future__ import annotations

import asyncio
from typing import Any

from ostinato.artifacts._address import Address, locate, scope_of
from ostinato.artifacts._artifact_bucket import ArtifactBucket
from ostinato.artifacts._reference import find_target, load_resolved
from ostinato.artifacts.artifact_util import is_artifact_ref
from ostinato.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    copy_metadata,
    ensure_part,
)
from ostinato.errors import InputValidationError
from ostinato.types import Part


class GcsArtifactService(BaseArtifactService):
    """Keeps each version as one object, named as google-adk does, so that both read the other's.

    What google-adk wrote comes back as it gives it back: text as inline data of type `text/plain`.
    Several processes may write at once. Needs the extra `gcs`; the client is made at the first
    call, and all its work runs in threads. Methods raise StoreError where the bucket cannot be
    used: it does not exist, refuses the account, or does not answer for up to a minute.
    """

    def __init__(self, bucket_name: str, **kwargs: Any) -> None:
        """Use the bucket `bucket_name`, which must exist.

        Args:
            bucket_name: the bucket's name, without `gs://`.
            kwargs: what `google.cloud.storage.Client` takes: `project`, `credentials`, ...

        Raises:
            InputValidationError: `bucket_name` is empty.
            MissingExtraError: google-cloud-storage is not installed.
        """
        if not bucket_name or "/" in bucket_name:
            raise InputValidationError(
                f"GcsArtifactService needs the name of a bucket, not {bucket_name[:40]!r}; give it "
                "without 'gs://' and folders."
            )
        self.bucket_name = bucket_name
        self._bucket = ArtifactBucket(bucket_name, kwargs)

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
        """Store a new version; see `BaseArtifactService`.

        Ids, name and metadata must fit into an object's: 1,024 and 8,192 bytes together.
        """
        address = locate(app_name, user_id, session_id, filename)
        part = ensure_part(artifact).model_copy(deep=True)
        if is_artifact_ref(part):
            find_target(part, address)
        metadata = copy_metadata(custom_metadata, filename)
        return await asyncio.to_thread(self._bucket.write, address, part, metadata)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """The content of one version; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await load_resolved(self._read, address, version)

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """The names in session and user scope, sorted; see `BaseArtifactService`."""
        scope = scope_of(app_name, user_id, session_id)
        scopes = {scope, (app_name, user_id, None)}

        def names() -> list[str]:
            return sorted(name for key in scopes for name in self._bucket.names(key))

        return await asyncio.to_thread(names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Remove all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        await asyncio.to_thread(self._bucket.remove, address)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The numbers of all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await asyncio.to_thread(self._bucket.versions, address)

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """What is known about all versions; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await asyncio.to_thread(self._bucket.describe_all, address)

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """What is known about one version; see `BaseArtifactService`."""
        address = locate(app_name, user_id, session_id, filename)
        return await asyncio.to_thread(self._bucket.describe, address, version)

    async def close(self) -> None:
        """Close the client's connections."""
        await asyncio.to_thread(self._bucket.close)

    async def _read(self, address: Address, version: int | None) -> Part | None:
        return await asyncio.to_thread(self._bucket.read, address, version)

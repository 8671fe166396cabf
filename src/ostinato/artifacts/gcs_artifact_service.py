"""Artifacts kept in a bucket of Google Cloud Storage: for many machines."""

from __future__ import annotations

import asyncio
from typing import Any

from ostinato.artifacts._artifact_bucket import ArtifactBucket
from ostinato.artifacts._stored_artifacts import StoredArtifactService
from ostinato.errors import InputValidationError


class GcsArtifactService(StoredArtifactService):
    """Keeps each version as one object, named as google-adk does, so that both read the other's.

    What google-adk wrote comes back as it gives it back: text as inline data of type `text/plain`.
    Several processes may write at once. Needs the extra `gcs`; the client is made at the first
    call, and all its work runs in threads. Methods raise StoreError where the bucket cannot be
    used: it does not exist, refuses the account, or does not answer for up to a minute. Ids, name
    and metadata of an artifact must fit into an object's: 1,024 and 8,192 bytes together.
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
        self._bucket = self._store = ArtifactBucket(bucket_name, kwargs)

    async def close(self) -> None:
        """Close the client's connections."""
        await asyncio.to_thread(self._bucket.close)

"""The bucket of Cloud Storage that holds eval sets and results."""

from __future__ import annotations

from typing import Any

from .._optional import need
from ..errors import InputValidationError


class EvalBucket:
    """Texts in a bucket; google-cloud-storage (extra `gcs`) loads here.

    Args:
      name: the bucket.
      options: what `google.cloud.storage.Client` takes.

    Raises:
      InputValidationError: the bucket does not exist.
      MissingExtraError: google-cloud-storage is not installed.
    """

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.client: Any = need("google.cloud.storage", extra="gcs").Client(**options)
        self.bucket: Any = self.client.bucket(name)
        if not self.bucket.exists():
            raise InputValidationError(f"The bucket {name!r} does not exist; create it first.")

    def read_text(self, name: str) -> str | None:
        """Return the text of an object, or None if it does not exist."""
        blob = self.bucket.blob(name)
        return blob.download_as_text() if blob.exists() else None

    def write_text(self, name: str, text: str) -> None:
        """Write an object, in place of an earlier one."""
        self.bucket.blob(name).upload_from_string(text, content_type="application/json")

    def list_names(self, folder: str, extension: str) -> list[str]:
        """Return the names of a folder's objects without the extension, sorted."""
        names = [blob.name for blob in self.bucket.list_blobs(prefix=f"{folder}/")]
        return sorted(
            name.rpartition("/")[2].removesuffix(extension)
            for name in names
            if name.endswith(extension)
        )

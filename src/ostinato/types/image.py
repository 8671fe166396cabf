"""Images as the service takes and gives them."""

from mimetypes import guess_type
from pathlib import Path
from typing import Self

from ostinato.types._record import Record


class Image(Record):
    """An image, as bytes or as a Cloud Storage URI."""

    gcs_uri: str | None = None
    image_bytes: bytes | None = None
    mime_type: str | None = None

    @classmethod
    def from_file(cls, *, location: str, mime_type: str | None = None) -> Self:
        """Read an image from a local path, or name it if `location` is a gs:// URI."""
        if location.startswith("gs://"):
            return cls(gcs_uri=location, mime_type=mime_type)
        kind = mime_type or guess_type(location)[0]
        return cls(image_bytes=Path(location).read_bytes(), mime_type=kind)

    def save(self, location: str) -> None:
        """Write the image's bytes to a local path; raises ValueError if it has none."""
        if self.image_bytes is None:
            raise ValueError(f"the image {self.gcs_uri or ''} holds no bytes; download it first")
        Path(location).write_bytes(self.image_bytes)

"""Images, and what can be said about media: which piece to read, who speaks, what was said."""

from mimetypes import guess_type
from pathlib import Path
from typing import Self

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class MediaProcessing(CaseInsensitiveEnum):
    """Whether media is read once or looked at again as the model needs."""

    MEDIA_PROCESSING_UNSPECIFIED = "MEDIA_PROCESSING_UNSPECIFIED"
    STATIC = "STATIC"
    AGENTIC = "AGENTIC"


class VideoMetadataContentLayer(CaseInsensitiveEnum):
    """A layer of a video."""

    CONTENT_LAYER_UNSPECIFIED = "CONTENT_LAYER_UNSPECIFIED"
    FRAMES = "FRAMES"
    AUDIO = "AUDIO"
    TRANSCRIPT = "TRANSCRIPT"


class VideoMetadata(Record):
    """Which piece of a video to read, and at which frame rate."""

    end_offset: str | None = None
    fps: float | None = None
    start_offset: str | None = None
    content_layers: list[VideoMetadataContentLayer] | None = None


class DocumentMetadataContentLayer(CaseInsensitiveEnum):
    """A layer of a document."""

    CONTENT_LAYER_UNSPECIFIED = "CONTENT_LAYER_UNSPECIFIED"
    PAGE_IMAGE = "PAGE_IMAGE"
    PAGE_TEXT = "PAGE_TEXT"


class DocumentMetadata(Record):
    """Which pages of a document to read."""

    start_page: int | None = None
    end_page: int | None = None
    content_layers: list[DocumentMetadataContentLayer] | None = None


class SpreadsheetMetadataContentLayer(CaseInsensitiveEnum):
    """A layer of a spreadsheet."""

    CONTENT_LAYER_UNSPECIFIED = "CONTENT_LAYER_UNSPECIFIED"
    DATA = "DATA"
    FORMULAS = "FORMULAS"
    VISUAL = "VISUAL"


class SpreadsheetMetadata(Record):
    """Which cells of a spreadsheet to read."""

    visible_cells: str | None = None
    sheet_index: int | None = None
    content_layers: list[SpreadsheetMetadataContentLayer] | None = None


class AudioMetadata(Record):
    """Which piece of a recording to read."""

    start_offset: str | None = None
    end_offset: str | None = None


class SpeechMetadata(Record):
    """Who speaks a text, and how."""

    speaker: str | None = None
    style: str | None = None


class WordInfo(Record):
    """One word of a transcription and when it was said."""

    word: str | None = None
    start_offset: str | None = None
    end_offset: str | None = None


class Transcription(Record):
    """The text of a piece of speech."""

    text: str | None = None
    finished: bool | None = None
    language_code: str | None = None
    speaker_label: str | None = None
    words: list[WordInfo] | None = None
    start_offset: str | None = None
    end_offset: str | None = None


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

"""The rarer things a part can hold; loaded when a part first holds one."""

from mimetypes import guess_type
from typing import TYPE_CHECKING, Any, Literal, Self

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ostinato.types.media import (
        AudioMetadata,
        DocumentMetadata,
        MediaProcessing,
        SpreadsheetMetadata,
        VideoMetadata,
    )
else:
    AudioMetadata = deferred_type("AudioMetadata")
    DocumentMetadata = deferred_type("DocumentMetadata")
    MediaProcessing = deferred_type("MediaProcessing")
    SpreadsheetMetadata = deferred_type("SpreadsheetMetadata")
    VideoMetadata = deferred_type("VideoMetadata")


class PartMediaResolutionLevel(CaseInsensitiveEnum):
    """How finely one media part is read."""

    MEDIA_RESOLUTION_UNSPECIFIED = "MEDIA_RESOLUTION_UNSPECIFIED"
    MEDIA_RESOLUTION_LOW = "MEDIA_RESOLUTION_LOW"
    MEDIA_RESOLUTION_MEDIUM = "MEDIA_RESOLUTION_MEDIUM"
    MEDIA_RESOLUTION_HIGH = "MEDIA_RESOLUTION_HIGH"
    MEDIA_RESOLUTION_ULTRA_HIGH = "MEDIA_RESOLUTION_ULTRA_HIGH"


class PartMediaResolution(Record):
    """The resolution of one media part, by level or by token budget."""

    level: PartMediaResolutionLevel | None = None
    num_tokens: int | None = None


class PartialArg(Record):
    """One piece of a function call's arguments, streamed while the model writes it."""

    bool_value: bool | None = None
    json_path: str | None = None
    null_value: Literal["NULL_VALUE"] | None = None
    number_value: float | None = None
    string_value: str | None = None
    will_continue: bool | None = None


class FunctionResponseScheduling(CaseInsensitiveEnum):
    """When a late function response reaches a live model."""

    SCHEDULING_UNSPECIFIED = "SCHEDULING_UNSPECIFIED"
    SILENT = "SILENT"
    WHEN_IDLE = "WHEN_IDLE"
    INTERRUPT = "INTERRUPT"


class FunctionResponseBlob(Record):
    """Inline bytes inside a function response."""

    mime_type: str | None = None
    data: bytes | None = None
    display_name: str | None = None


class FunctionResponseFileData(Record):
    """A file by its URI inside a function response."""

    file_uri: str | None = None
    mime_type: str | None = None
    display_name: str | None = None


class FunctionResponsePart(Record):
    """A media part of a function response."""

    inline_data: FunctionResponseBlob | None = None
    file_data: FunctionResponseFileData | None = None
    media_processing: MediaProcessing | None = None
    media_resolution: PartMediaResolution | None = None
    video_metadata: VideoMetadata | None = None
    document_metadata: DocumentMetadata | None = None
    spreadsheet_metadata: SpreadsheetMetadata | None = None
    audio_metadata: AudioMetadata | None = None

    @classmethod
    def from_bytes(cls, *, data: bytes, mime_type: str, display_name: str | None = None) -> Self:
        """Return a media part that carries `data` inline."""
        blob = FunctionResponseBlob(data=data, mime_type=mime_type, display_name=display_name)
        return cls(inline_data=blob)

    @classmethod
    def from_uri(
        cls, *, file_uri: str, mime_type: str | None = None, display_name: str | None = None
    ) -> Self:
        """Return a media part that names a file; without `mime_type` it is guessed or refused."""
        kind = mime_type or guess_type(file_uri)[0]
        if kind is None:
            raise ValueError(f"cannot tell the MIME type of {file_uri!r}; pass mime_type=")
        named = FunctionResponseFileData(
            file_uri=file_uri, mime_type=kind, display_name=display_name
        )
        return cls(file_data=named)


class ToolType(CaseInsensitiveEnum):
    """Which of the service's own tools ran."""

    TOOL_TYPE_UNSPECIFIED = "TOOL_TYPE_UNSPECIFIED"
    GOOGLE_SEARCH_WEB = "GOOGLE_SEARCH_WEB"
    GOOGLE_SEARCH_IMAGE = "GOOGLE_SEARCH_IMAGE"
    URL_CONTEXT = "URL_CONTEXT"
    GOOGLE_MAPS = "GOOGLE_MAPS"
    FILE_SEARCH = "FILE_SEARCH"
    MEDIA_PROCESSING = "MEDIA_PROCESSING"


class ToolCall(Record):
    """A call of a tool that the service itself runs."""

    id: str | None = None
    tool_type: ToolType | None = None
    args: dict[str, Any] | None = None


class ToolResponse(Record):
    """The result of a tool that the service itself ran."""

    id: str | None = None
    tool_type: ToolType | None = None
    response: dict[str, Any] | None = None

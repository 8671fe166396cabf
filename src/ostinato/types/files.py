"""Files and caches that the service keeps."""

from datetime import datetime
from typing import Any

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class FileState(CaseInsensitiveEnum):
    """Whether an uploaded file is ready."""

    STATE_UNSPECIFIED = "STATE_UNSPECIFIED"
    PROCESSING = "PROCESSING"
    ACTIVE = "ACTIVE"
    FAILED = "FAILED"


class FileSource(CaseInsensitiveEnum):
    """Where a file came from."""

    SOURCE_UNSPECIFIED = "SOURCE_UNSPECIFIED"
    UPLOADED = "UPLOADED"
    GENERATED = "GENERATED"
    REGISTERED = "REGISTERED"


class FileStatus(Record):
    """Why a file failed."""

    details: list[dict[str, Any]] | None = None
    message: str | None = None
    code: int | None = None


class File(Record):
    """A file kept by the service."""

    name: str | None = None
    display_name: str | None = None
    mime_type: str | None = None
    size_bytes: int | None = None
    create_time: datetime | None = None
    expiration_time: datetime | None = None
    update_time: datetime | None = None
    sha256_hash: str | None = None
    uri: str | None = None
    download_uri: str | None = None
    state: FileState | None = None
    source: FileSource | None = None
    video_metadata: dict[str, Any] | None = None
    error: FileStatus | None = None


class JobError(Record):
    """Why a job failed."""

    details: list[str] | None = None
    code: int | None = None
    message: str | None = None

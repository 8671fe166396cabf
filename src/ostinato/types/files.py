"""Files and caches that the service keeps."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ostinato.types._record import CaseInsensitiveEnum, Record
from ostinato.types.late_field import later

if TYPE_CHECKING:
    from ostinato.types.http_options import HttpOptions
    from ostinato.types.tool import Tool
    from ostinato.types.tool_config import ToolConfig
    from ostinato.types.unions import ContentListUnion, ContentUnion
else:
    ContentListUnion = later("ContentListUnion")
    ContentUnion = later("ContentUnion")
    HttpOptions = later("HttpOptions")
    Tool = later("Tool")
    ToolConfig = later("ToolConfig")


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


class CachedContentUsageMetadata(Record):
    """How much a cache holds."""

    audio_duration_seconds: int | None = None
    image_count: int | None = None
    text_count: int | None = None
    total_token_count: int | None = None
    video_duration_seconds: int | None = None


class CachedContent(Record):
    """A prefix of requests kept by the service."""

    name: str | None = None
    display_name: str | None = None
    model: str | None = None
    create_time: datetime | None = None
    update_time: datetime | None = None
    expire_time: datetime | None = None
    usage_metadata: CachedContentUsageMetadata | None = None


class CreateCachedContentConfig(Record):
    """What to keep in a new cache, and for how long."""

    http_options: HttpOptions | None = None
    ttl: str | None = None
    expire_time: datetime | None = None
    display_name: str | None = None
    contents: ContentListUnion | None = None
    system_instruction: ContentUnion | None = None
    tools: list[Tool] | None = None
    tool_config: ToolConfig | None = None
    kms_key_name: str | None = None


class JobError(Record):
    """Why a job failed."""

    details: list[str] | None = None
    code: int | None = None
    message: str | None = None

"""Caches of request prefixes that a service keeps."""

from datetime import datetime
from typing import TYPE_CHECKING

from ostinato.types._base_record import Record
from ostinato.types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ostinato.types.http_options import HttpOptions
    from ostinato.types.tool import Tool, ToolConfig
    from ostinato.types.unions import ContentListUnion, ContentUnion
else:
    ContentListUnion = deferred_type("ContentListUnion")
    ContentUnion = deferred_type("ContentUnion")
    HttpOptions = deferred_type("HttpOptions")
    Tool = deferred_type("Tool")
    ToolConfig = deferred_type("ToolConfig")


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

"""Token counts of a request."""

from typing import TYPE_CHECKING

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ostinato.types.generation import ServiceTier
else:
    ServiceTier = deferred_type("ServiceTier")


class MediaModality(CaseInsensitiveEnum):
    """A kind of content that tokens are counted for."""

    MODALITY_UNSPECIFIED = "MODALITY_UNSPECIFIED"
    TEXT = "TEXT"
    IMAGE = "IMAGE"
    VIDEO = "VIDEO"
    AUDIO = "AUDIO"
    DOCUMENT = "DOCUMENT"


class TrafficType(CaseInsensitiveEnum):
    """What a request was served from."""

    TRAFFIC_TYPE_UNSPECIFIED = "TRAFFIC_TYPE_UNSPECIFIED"
    ON_DEMAND = "ON_DEMAND"
    ON_DEMAND_PRIORITY = "ON_DEMAND_PRIORITY"
    ON_DEMAND_FLEX = "ON_DEMAND_FLEX"
    ON_DEMAND_OFFPEAK = "ON_DEMAND_OFFPEAK"
    PROVISIONED_THROUGHPUT = "PROVISIONED_THROUGHPUT"


class ModalityTokenCount(Record):
    """The tokens of one kind of content."""

    modality: MediaModality | None = None
    token_count: int | None = None


class GenerateContentResponseUsageMetadata(Record):
    """The tokens of one response, by what they were spent on; counts, not characters."""

    cache_tokens_details: list[ModalityTokenCount] | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    candidates_tokens_details: list[ModalityTokenCount] | None = None
    prompt_token_count: int | None = None
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    tool_use_prompt_tokens_details: list[ModalityTokenCount] | None = None
    total_token_count: int | None = None
    traffic_type: TrafficType | None = None

    @property
    def initial_prompt_token_count(self) -> int | None:
        """The tokens of the prompt as it was sent."""
        return self.prompt_token_count


class UsageMetadata(Record):
    """The tokens of a live session so far, by what they were spent on."""

    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    response_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    thoughts_token_count: int | None = None
    total_token_count: int | None = None
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    cache_tokens_details: list[ModalityTokenCount] | None = None
    response_tokens_details: list[ModalityTokenCount] | None = None
    tool_use_prompt_tokens_details: list[ModalityTokenCount] | None = None
    traffic_type: TrafficType | None = None
    service_tier: ServiceTier | None = None

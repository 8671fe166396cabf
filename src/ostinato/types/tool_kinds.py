"""The tools that the model's service runs itself: search, maps, code, computer use."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ostinato.types.tool_auth import AuthConfig
else:
    AuthConfig = deferred_type("AuthConfig")


class PhishBlockThreshold(CaseInsensitiveEnum):
    """How sure the service must be of phishing to hide a page."""

    PHISH_BLOCK_THRESHOLD_UNSPECIFIED = "PHISH_BLOCK_THRESHOLD_UNSPECIFIED"
    BLOCK_LOW_AND_ABOVE = "BLOCK_LOW_AND_ABOVE"
    BLOCK_MEDIUM_AND_ABOVE = "BLOCK_MEDIUM_AND_ABOVE"
    BLOCK_HIGH_AND_ABOVE = "BLOCK_HIGH_AND_ABOVE"
    BLOCK_HIGHER_AND_ABOVE = "BLOCK_HIGHER_AND_ABOVE"
    BLOCK_VERY_HIGH_AND_ABOVE = "BLOCK_VERY_HIGH_AND_ABOVE"
    BLOCK_ONLY_EXTREMELY_HIGH = "BLOCK_ONLY_EXTREMELY_HIGH"


class WebSearch(Record):
    """Asks for web results."""


class ImageSearch(Record):
    """Asks for image results."""


class SearchTypes(Record):
    """Which kinds of results a Google search returns."""

    web_search: WebSearch | None = None
    image_search: ImageSearch | None = None


class Interval(Record):
    """A span of time; start included, end not."""

    end_time: datetime | None = None
    start_time: datetime | None = None


class GoogleSearch(Record):
    """The service's Google search tool."""

    search_types: SearchTypes | None = None
    blocking_confidence: PhishBlockThreshold | None = None
    exclude_domains: list[str] | None = None
    time_range_filter: Interval | None = None


class GoogleMapsPlaces(Record):
    """Grounds in places."""


class GoogleMapsRouting(Record):
    """Grounds in routes."""


class GoogleMapsGroundingTypes(Record):
    """What Google Maps grounds answers in."""

    places: GoogleMapsPlaces | None = None
    routing: GoogleMapsRouting | None = None


class GoogleMaps(Record):
    """The service's Google Maps tool."""

    auth_config: AuthConfig | None = None
    enable_widget: bool | None = None
    grounding_types: GoogleMapsGroundingTypes | None = None


class EnterpriseWebSearch(Record):
    """The service's web search tool for enterprises."""

    blocking_confidence: PhishBlockThreshold | None = None
    exclude_domains: list[str] | None = None


class DynamicRetrievalConfigMode(CaseInsensitiveEnum):
    """Whether the service decides by itself to search."""

    MODE_UNSPECIFIED = "MODE_UNSPECIFIED"
    MODE_DYNAMIC = "MODE_DYNAMIC"


class DynamicRetrievalConfig(Record):
    """When the service decides to search."""

    dynamic_threshold: float | None = None
    mode: DynamicRetrievalConfigMode | None = None


class GoogleSearchRetrieval(Record):
    """The search tool of older models."""

    dynamic_retrieval_config: DynamicRetrievalConfig | None = None


class UrlContext(Record):
    """The service's tool that reads URLs of the prompt."""


class ToolCodeExecution(Record):
    """The service's tool that runs code."""


class ToolParallelAiSearch(Record):
    """Search by Parallel AI."""

    api_key: str | None = None
    custom_configs: dict[str, Any] | None = None
    enable_data_retention: bool | None = None
    enable_zero_data_retention: bool | None = None


class ToolExaAiSearch(Record):
    """Search by Exa."""

    api_key: str | None = None
    custom_configs: dict[str, Any] | None = None


class FileSearch(Record):
    """The service's search in uploaded files."""

    file_search_store_names: list[str] | None = None
    top_k: int | None = None
    metadata_filter: str | None = None


class Environment(CaseInsensitiveEnum):
    """What a computer-use model operates."""

    ENVIRONMENT_UNSPECIFIED = "ENVIRONMENT_UNSPECIFIED"
    ENVIRONMENT_BROWSER = "ENVIRONMENT_BROWSER"
    ENVIRONMENT_MOBILE = "ENVIRONMENT_MOBILE"
    ENVIRONMENT_DESKTOP = "ENVIRONMENT_DESKTOP"


class SafetyPolicy(CaseInsensitiveEnum):
    """A safety check of computer use that can be switched off."""

    SAFETY_POLICY_UNSPECIFIED = "SAFETY_POLICY_UNSPECIFIED"
    FINANCIAL_TRANSACTIONS = "FINANCIAL_TRANSACTIONS"
    SENSITIVE_DATA_MODIFICATION = "SENSITIVE_DATA_MODIFICATION"
    COMMUNICATION_TOOL = "COMMUNICATION_TOOL"
    ACCOUNT_CREATION = "ACCOUNT_CREATION"
    DATA_MODIFICATION = "DATA_MODIFICATION"
    USER_CONSENT_MANAGEMENT = "USER_CONSENT_MANAGEMENT"
    LEGAL_TERMS_AND_AGREEMENTS = "LEGAL_TERMS_AND_AGREEMENTS"


class ComputerUse(Record):
    """The service's computer-use tool."""

    environment: Environment | None = None
    excluded_predefined_functions: list[str] | None = None
    enable_prompt_injection_detection: bool | None = None
    disabled_safety_policies: list[SafetyPolicy] | None = None


class StreamableHttpTransport(Record):
    """How to reach an MCP server over HTTP."""

    headers: dict[str, str] | None = None
    sse_read_timeout: str | None = None
    terminate_on_close: bool | None = None
    timeout: str | None = None
    url: str | None = None


class McpServer(Record):
    """An MCP server that the service itself calls."""

    name: str | None = None
    streamable_http_transport: StreamableHttpTransport | None = None

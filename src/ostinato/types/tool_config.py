"""Which functions the model may call, and settings shared by its tools."""

from ostinato.types._record import CaseInsensitiveEnum, Record


class LatLng(Record):
    """A place on earth, in degrees."""

    latitude: float | None = None
    longitude: float | None = None


class RetrievalConfig(Record):
    """Where and in which language retrieval tools look."""

    lat_lng: LatLng | None = None
    language_code: str | None = None


class FunctionCallingConfigMode(CaseInsensitiveEnum):
    """Whether the model may, must or must not call functions."""

    MODE_UNSPECIFIED = "MODE_UNSPECIFIED"
    AUTO = "AUTO"
    ANY = "ANY"
    NONE = "NONE"
    VALIDATED = "VALIDATED"


class FunctionCallingConfig(Record):
    """Which functions the model may call, and whether it must."""

    allowed_function_names: list[str] | None = None
    mode: FunctionCallingConfigMode | None = None
    stream_function_call_arguments: bool | None = None


class ToolConfig(Record):
    """Settings shared by all tools of a request."""

    retrieval_config: RetrievalConfig | None = None
    function_calling_config: FunctionCallingConfig | None = None
    include_server_side_tool_invocations: bool | None = None

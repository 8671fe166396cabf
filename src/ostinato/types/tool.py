"""Function declarations, the tool record that carries them to the model, and which it may call."""

from typing import TYPE_CHECKING, Any, Self

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.deferred_type import deferred_type
from ostinato.types.schema import Schema

if TYPE_CHECKING:
    from ostinato.types.retrieval import Retrieval
    from ostinato.types.tool_kinds import (
        ComputerUse,
        EnterpriseWebSearch,
        FileSearch,
        GoogleMaps,
        GoogleSearch,
        GoogleSearchRetrieval,
        McpServer,
        ToolCodeExecution,
        ToolExaAiSearch,
        ToolParallelAiSearch,
        UrlContext,
    )
else:
    ComputerUse = deferred_type("ComputerUse")
    EnterpriseWebSearch = deferred_type("EnterpriseWebSearch")
    FileSearch = deferred_type("FileSearch")
    GoogleMaps = deferred_type("GoogleMaps")
    GoogleSearch = deferred_type("GoogleSearch")
    GoogleSearchRetrieval = deferred_type("GoogleSearchRetrieval")
    McpServer = deferred_type("McpServer")
    Retrieval = deferred_type("Retrieval")
    ToolCodeExecution = deferred_type("ToolCodeExecution")
    ToolExaAiSearch = deferred_type("ToolExaAiSearch")
    ToolParallelAiSearch = deferred_type("ToolParallelAiSearch")
    UrlContext = deferred_type("UrlContext")


class Behavior(CaseInsensitiveEnum):
    """Whether the model waits for a function's response."""

    UNSPECIFIED = "UNSPECIFIED"
    BLOCKING = "BLOCKING"
    NON_BLOCKING = "NON_BLOCKING"


class FunctionDeclaration(Record):
    """What the model is told of a function (Spec 2 §3.9).

    Parameters are given as `parameters` (a Schema) or as `parameters_json_schema`, never as both.
    """

    description: str | None = None
    name: str | None = None
    parameters: Schema | None = None
    parameters_json_schema: Any | None = None
    response: Schema | None = None
    response_json_schema: Any | None = None
    behavior: Behavior | None = None

    @classmethod
    def from_callable(cls, **options: Any) -> Self:
        """Not offered: functions are described by the tools that call them."""
        raise NotImplementedError(
            "FunctionDeclaration.from_callable is google-genai's own reading of signatures; "
            "use ostinato.tools.FunctionTool(func), whose declaration is what the model is told"
        )

    from_callable_with_api_option = from_callable


class Tool(Record):
    """What a model may use: declared functions, or one of the tools that its service runs."""

    retrieval: Retrieval | None = None
    computer_use: ComputerUse | None = None
    file_search: FileSearch | None = None
    google_search: GoogleSearch | None = None
    google_maps: GoogleMaps | None = None
    code_execution: ToolCodeExecution | None = None
    enterprise_web_search: EnterpriseWebSearch | None = None
    function_declarations: list[FunctionDeclaration] | None = None
    google_search_retrieval: GoogleSearchRetrieval | None = None
    parallel_ai_search: ToolParallelAiSearch | None = None
    url_context: UrlContext | None = None
    mcp_servers: list[McpServer] | None = None
    exa_ai_search: ToolExaAiSearch | None = None


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

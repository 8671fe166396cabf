"""What google-adk 2.3.0 has in public and Ostinato has not, or has otherwise: each with the part of
the project that it belongs to and the reason. The test fails for an entry that is not needed.

A place is a module (`tools.mcp_tool`), a name in it (`events.event:Event`), a member
(`agents.context:Context.route`) or a parameter (`...Context.__init__(node)`); `*` stands for
anything.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

# Parts whose work comes later, or is somebody else's to offer.
LIVE, WORKFLOW = "live", "workflow"
MODELS, SQL, CLOUD = "models", "SQL sessions", "Google Cloud"
MCP, OPENAPI, INTEGRATIONS = "MCP", "OpenAPI", "integrations"
SERVER, TELEMETRY = "server", "telemetry"
# Not a part: a name that nobody can build on; or the same thing done otherwise.
INTERNAL, OTHERWISE = "internal", "otherwise"

PARTS = frozenset(
    {LIVE, WORKFLOW, MODELS, SQL, CLOUD, MCP, OPENAPI, INTEGRATIONS, SERVER}
    | {TELEMETRY, INTERNAL, OTHERWISE}
)
# The core, where nothing may be missing but what these parts bring.
CORE = (
    "agents", "apps", "events", "flows", "plugins", "runners", "sessions", "tools",
    "models.base_llm", "models.base_llm_connection", "models.cache_metadata",
    "models.llm_request", "models.llm_response", "models.registry",
)  # fmt: skip
OUTSIDE = frozenset({MCP, OPENAPI, CLOUD, INTEGRATIONS, SQL})
ALLOWED_IN_CORE = frozenset({LIVE, WORKFLOW, INTERNAL, OTHERWISE})


@dataclass(frozen=True)
class Absence:
    """Something that is not there, or is there otherwise."""

    place: str
    part: str
    reason: str

    def __str__(self) -> str:
        return self.place

    def covers(self, where: str) -> bool:
        return fnmatchcase(where, self.place)

    @property
    def is_in_core(self) -> bool:
        """True for a place in the core; integrations and their names in `tools` are outside."""
        return self.part not in OUTSIDE and any(
            re.match(rf"{re.escape(one)}(?![a-z_])", self.place) for one in CORE
        )


def _each(part: str, reason: str, *places: str) -> list[Absence]:
    return [Absence(place, part, reason) for place in places]


ABSENCES: list[Absence] = [
    # Agents and their context.
    Absence("workflow.utils", WORKFLOW, "A package that only holds private modules."),
    Absence(
        "agents.context:Context.telemetry_context", OTHERWISE,
        "A handle of google-adk's own tracing; the current OpenTelemetry span serves here.",
    ),
    Absence(
        "agents.invocation_context:InvocationContext.plugin_manager", OTHERWISE,
        "An InvocationContext made without a runner has no hooks, not an empty PluginManager.",
    ),
    *_each(
        OTHERWISE, "BaseAgent.run_async and run_live return a generator; they are called alike.",
        "agents.base_agent:BaseAgent.run_async", "agents.base_agent:BaseAgent.run_live",
    ),
    Absence(
        "events.event:Event.id", OTHERWISE,
        "An event has its id from the start; google-adk fills an empty one after construction.",
    ),
    *_each(
        INTERNAL, "A constant or validator of the module's own working.",
        "flows.llm_flows.base_llm_flow:DEFAULT_MAX_RECONNECT_ATTEMPTS",
        "flows.llm_flows.base_llm_flow:DEFAULT_TASK_COMPLETION_DELAY",
        "flows.llm_flows.base_llm_flow:DEFAULT_TRANSFER_AGENT_DELAY",
        "flows.llm_flows.agent_transfer:line_break",
        "flows.llm_flows.base_llm_flow:DEFAULT_ENABLE_CACHE_STATISTICS",
        "tools.agent_tool:AgentTool.populate_name",
        "memory:missing_extra",
    ),
    # Storage.
    *_each(
        OTHERWISE, "The SQLite file has a format of its own, and its SQL is not public.",
        "sessions.sqlite_session_service:APP_STATES_TABLE_SCHEMA",
        "sessions.sqlite_session_service:CREATE_SCHEMA_SQL",
        "sessions.sqlite_session_service:EVENTS_TABLE_SCHEMA",
        "sessions.sqlite_session_service:PRAGMA_FOREIGN_KEYS",
        "sessions.sqlite_session_service:SESSIONS_TABLE_SCHEMA",
        "sessions.sqlite_session_service:USER_STATES_TABLE_SCHEMA",
    ),
    *_each(
        OTHERWISE, "How an artifact service keeps its files and entries is not public.",
        "artifacts.file_artifact_service:FileArtifactVersion",
        "artifacts.in_memory_artifact_service:InMemoryArtifactService.artifacts",
    ),
    *_each(
        SQL, "Classes of an object mapper; `ostinato migrate` copies databases.",
        "sessions.migration.*", "sessions.schemas.*",
    ),
    # Models.
    *_each(
        MODELS, "The inner parts of an adapter.",
        "models.anthropic_llm:*", "models.apigee_llm:ChatCompletionsResponseHandler",
        "models.apigee_llm:CompletionsHTTPClient", "models.interactions_utils:build_interactions_*",
        "models.interactions_utils:convert_interaction_event_to_llm_response",
        "models.lite_llm:ChatCompletionFileUrlObject", "models.lite_llm:FunctionChunk",
        "models.lite_llm:ReasoningChunk", "models.lite_llm:TYPE_LABELS",
        "models.lite_llm:TextChunk", "models.lite_llm:UsageMetadataChunk",
    ),
    Absence(
        "utils.cache_performance_analyzer", MODELS, "Reads what Gemini's caching adapter wrote."
    ),
    # Running elsewhere.
    *_each(
        INTERNAL, "Names of the Kubernetes client that the module imports.",
        "code_executors.gke_code_executor:ApiException",
        "code_executors.gke_code_executor:client", "code_executors.gke_code_executor:config",
    ),
    Absence("agents.agent_config:AgentConfig.root", INTERNAL, "pydantic's own, as a parameter."),
    Absence("utils.agent_info", SERVER, "What the development server tells of an agent."),
    Absence("plugins.auto_tracing_helpers", INTERNAL, "The inner parts of AutoTracingPlugin."),
    # Integrations: rooms that are not built are not there at all.
    *_each(
        MCP, "Tools and prompts of MCP servers.",
        "tools.mcp_tool*", "tools.load_mcp_resource_tool", "tools:MCPToolset", "tools:McpToolset",
        "types:FunctionResponse.from_mcp_response",
    ),
    *_each(
        OPENAPI, "Tools made of OpenAPI documents.",
        "tools.openapi_tool*", "tools.apihub_tool*", "tools.application_integration_tool*",
        "tools.google_api_tool*", "tools:APIHubToolset",
    ),
    *_each(
        CLOUD, "Tools for products of Google Cloud.",
        "plugins.bigquery_agent_analytics_plugin", "tools.api_registry", "tools.bigquery*",
        "tools.bigtable*", "tools.data_agent*", "tools.discovery_engine_search_tool",
        "tools.google_tool", "tools.pubsub*", "tools.spanner*", "tools.retrieval*",
        "tools:ApiRegistry", "tools:DiscoveryEngineSearchTool", "tools:SearchResultMode",
    ),
    *_each(
        INTEGRATIONS, "Tools of other libraries, of a computer's screen, of skills, of simulation.",
        "tools.agent_simulator*", "tools.computer_use*", "tools.crewai_tool", "tools.environment*",
        "tools.langchain_tool", "tools.skill_toolset", "tools.toolbox_toolset",
    ),
    *_each(
        INTERNAL, "The inner parts of a plugin.",
        "plugins.multimodal_tool_results_plugin:PARTS_RETURNED_BY_TOOLS_ID",
        "plugins.reflect_retry_tool_plugin:GLOBAL_SCOPE_KEY",
        "plugins.reflect_retry_tool_plugin:PerToolFailuresCounter",
    ),
]  # fmt: skip

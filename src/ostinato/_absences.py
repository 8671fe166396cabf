"""Public names of google-adk 2.3.0 that Ostinato has not: why not, and what to use instead.

Faces and the alias of google-adk raise these as errors, and `tests/surface` holds them against the
recorded surface.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

_LATER = "comes with a later version."
_PAGE = 'See docs/from-adk.md, "What is not built yet".'


class Absence(NamedTuple):
    """Names that are not there.

    Attributes:
      part: what they belong to.
      reason: why they are not there, as the rest of the sentence that begins with `part`.
      instead: what to use, as a sentence.
      places: modules (`tools.mcp_tool`, with all below) and names in one
        (`tools:McpToolset,MCPToolset`), with spaces between.
    """

    part: str
    reason: str
    instead: str
    places: str


ABSENCES = (
    Absence(
        "The inner part of google-adk's MCP client",
        "differs here: one task owns a connection, and a call is never repeated.",
        "Use McpToolset, or MCPSessionManager.create_session.",
        "tools.mcp_tool.session_context tools.mcp_tool.mcp_session_manager:retry_on_errors "
        "tools.mcp_tool.mcp_toolset:T telemetry.tracing:GCP_MCP_SERVER_DESTINATION_ID",
    ),
    Absence(
        "Tools over Google Cloud's API hub and Application Integration",
        "are not part of Ostinato, as they only fetch OpenAPI documents by Google's services.",
        "Give the document to ostinato.tools.openapi_tool.OpenAPIToolset.",
        "tools.apihub_tool tools.application_integration_tool tools:APIHubToolset",
    ),
    Absence(
        "Optimization",
        "is the command `ostinato optimize` here, which reads google-adk's files.",
        "In a program use ostinato.evaluation.prompt_optimization.",
        "optimization",
    ),
    Absence(
        "Google Cloud's skills and their registry",
        _LATER.replace("comes", "come"),
        "Until then derive a registry of your own from ostinato.skills.SkillRegistry.",
        "tools.bigquery.bigquery_skill integrations.skill_registry",
    ),
    Absence(
        "Wrappers of other libraries' tools",
        _LATER.replace("comes", "come"),
        "Until then call the library's tool from a function tool.",
        "tools.toolbox_toolset",
    ),
    Absence(
        "The simulation of tools",
        _LATER,
        "Until then replace tools in tests by functions with answers of your own.",
        "tools.agent_simulator tools.environment_simulation",
    ),
    Absence(
        "Google Cloud's tools and services",
        _LATER.replace("comes", "come"),
        "Until then call the product's client library from a function tool.",
        "plugins.bigquery_agent_analytics_plugin tools.api_registry tools.bigtable "
        "tools.data_agent tools.pubsub tools.spanner tools:ApiRegistry "
        "integrations.agent_identity integrations.agent_registry integrations.api_registry "
        "integrations.bigquery.client:get_dataplex_catalog_client integrations.e2b "
        "integrations.firestore integrations.gcs integrations.parameter_manager "
        "integrations.secret_manager integrations.slack integrations.vmaas",
    ),
    Absence(
        "The labs of google-adk",
        "are not part of Ostinato.",
        "For OpenAI's models give an agent a model name such as 'openai/gpt-5'.",
        "labs",
    ),
    Absence(
        "This part of google-adk's command line",
        "is not part of Ostinato, which has its own.",
        "Serve agents with `ostinato serve`, or in a program with "
        "ostinato.cli.fast_api.get_fast_api_app.",
        "cli utils.agent_info",
    ),
    Absence(
        "The A2A side of google-adk",
        "is not part of Ostinato.",
        "`ostinato serve` offers each app at /a2a/{app}; RemoteA2aAgent speaks to other agents.",
        "a2a",
    ),
    Absence(
        "The object mapper of google-adk",
        "is not part of Ostinato.",
        "DatabaseSessionService reads and writes its databases; `ostinato migrate` copies them.",
        "sessions.migration sessions.schemas",
    ),
    Absence(
        "The inner part of a store",
        "has a format of its own here, which is not public.",
        "Use the methods of the service.",
        "sessions.sqlite_session_service:APP_STATES_TABLE_SCHEMA,CREATE_SCHEMA_SQL,"
        "EVENTS_TABLE_SCHEMA,PRAGMA_FOREIGN_KEYS,SESSIONS_TABLE_SCHEMA,USER_STATES_TABLE_SCHEMA "
        "artifacts.file_artifact_service:FileArtifactVersion",
    ),
    Absence(
        "The inner part of a model adapter",
        "differs from google-adk's.",
        "Use the adapter's class, or derive a model of your own from BaseLlm.",
        "models.anthropic_llm:ClaudeRequest,content_block_to_part,content_to_message_param,"
        "function_declaration_to_tool_param,message_to_generate_content_response,"
        "part_to_message_block,to_claude_role,to_google_genai_finish_reason "
        "models.apigee_llm:ChatCompletionsResponseHandler,CompletionsHTTPClient "
        "models.interactions_utils:build_interactions_event_log,build_interactions_request_log,"
        "build_interactions_response_log,convert_interaction_event_to_llm_response "
        "models.lite_llm:ChatCompletionAssistantMessage,ChatCompletionAssistantToolCall,"
        "ChatCompletionFileUrlObject,ChatCompletionMessageToolCall,ChatCompletionSystemMessage,"
        "ChatCompletionToolMessage,ChatCompletionUserMessage,CustomStreamWrapper,Delta,Function,"
        "FunctionChunk,Message,ModelResponse,ModelResponseStream,OpenAIMessageContent,"
        "ReasoningChunk,TYPE_LABELS,TextChunk,UsageMetadataChunk,acompletion,completion,litellm "
        "utils.cache_performance_analyzer",
    ),
    Absence(
        "An inner part of google-adk",
        "has no use here.",
        "Leave the import out.",
        "code_executors.gke_code_executor:ApiException,client,config dependencies "
        "flows.llm_flows.agent_transfer:line_break "
        "memory:missing_extra tools.bigquery.bigquery_credentials:FeatureName "
        "platform.thread:internal_thread workflow.utils",
    ),
)


def find_absence(module: str, name: str = "") -> Absence | None:
    """Return what is known of an absent module or name, or None.

    Args:
      module: of google-adk, such as `tools.mcp_tool`; "" for the root.
      name: in that module; "" for the module itself.
    """
    known = _index()
    if name and f"{module}:{name}" in known:
        return known[f"{module}:{name}"]
    parts = f"{module}.{name}".strip(".").split(".")
    above = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((known[place] for place in above if place in known), None)


def absence_error(module: str, name: str = "") -> ModuleNotFoundError | None:
    """Return the error for an absent module or name of google-adk; None for one that is unknown.

    Args:
      module, name: as for `find_absence`.
    """
    absence = find_absence(module, name)
    if absence is None:
        return None
    place = ".".join(part for part in ("google.adk", module, name) if part)
    return ModuleNotFoundError(
        f"{place} is not in Ostinato. {absence.part} {absence.reason} {absence.instead} {_PAGE}",
        name=place,
    )


def refuse_absent(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a plain module of which google-adk has more names.

    Args:
      module: its `__name__`.
    """
    place = module.partition(".")[2]

    def refuse(name: str) -> Any:
        error = None if name.startswith("_") else absence_error(place, name)
        raise error or AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse


@cache
def _index() -> dict[str, Absence]:
    """Return the absences by place, one for each name."""
    found: dict[str, Absence] = {}
    for absence in ABSENCES:
        for place in absence.places.split():
            module, colon, names = place.partition(":")
            found |= {f"{module}{colon}{name}": absence for name in names.split(",")}
    return found

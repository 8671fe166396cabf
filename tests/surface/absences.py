"""What google-adk 2.3.0 has in public and Ostinato has not, or has otherwise.

Modules and names that are not there are `ostinato._absences`, which says so to programs. Here are
the differences within what is there: a member (`agents.context:Context.route`), a field, or a
parameter (`...Context.__init__(node)`); `*` stands for anything. The tests fail for an entry that
is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from ostinato._absences import ABSENCES as NOT_THERE

# Where nothing may be missing but inner parts and what comes with a room of its own.
CORE = (
    "agents", "apps", "events", "flows", "plugins", "runners", "sessions", "tools",
    "models.base_llm", "models.base_llm_connection", "models.cache_metadata",
    "models.llm_request", "models.llm_response", "models.registry",
)  # fmt: skip
ALLOWED_IN_CORE = frozenset(
    {
        "The inner part of google-adk's MCP client", "Google Cloud's skills and their registry",
        "Wrappers of other libraries' tools",
        "Tools over Google Cloud's API hub and Application Integration",
        "The simulation of tools", "Google Cloud's tools and services",
        "The object mapper of google-adk", "The inner part of a store",
        "An inner part of google-adk",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """Something that is there otherwise, or a member that is not."""

    place: str
    reason: str

    def __str__(self) -> str:
        return self.place

    def covers(self, where: str) -> bool:
        return fnmatchcase(where, self.place)


@dataclass(frozen=True)
class Missing:
    """A module with all below it, or a name of one, that is not there."""

    place: str
    part: str

    def __str__(self) -> str:
        return self.place

    def covers(self, where: str) -> bool:
        return where == self.place or where.startswith((f"{self.place}.", f"{self.place}:"))

    @property
    def is_in_core(self) -> bool:
        """True for a place in the core."""
        return any(
            self.place == one or self.place.startswith((f"{one}.", f"{one}:")) for one in CORE
        )


def missing_places() -> list[Missing]:
    """The modules and names that are not there, one by one."""
    found: list[Missing] = []
    for absence in NOT_THERE:
        for place in absence.places.split():
            module, colon, names = place.partition(":")
            found += [Missing(f"{module}{colon}{name}", absence.part) for name in names.split(",")]
    return found


def _each(reason: str, *places: str) -> list[Difference]:
    return [Difference(place, reason) for place in places]


DIFFERENCES: list[Difference] = [
    Difference(
        "agents.context:Context.telemetry_context",
        "A handle of google-adk's own tracing; the current OpenTelemetry span serves here.",
    ),
    Difference(
        "agents.invocation_context:InvocationContext.plugin_manager",
        "An InvocationContext made without a runner has no hooks, not an empty PluginManager.",
    ),
    *_each(
        "BaseAgent.run_async and run_live return a generator; they are called alike.",
        "agents.base_agent:BaseAgent.run_async", "agents.base_agent:BaseAgent.run_live",
    ),
    Difference(
        "events.event:Event.id",
        "An event has its id from the start; google-adk fills an empty one after construction.",
    ),
    Difference("agents.agent_config:AgentConfig.root", "pydantic's own, as a parameter."),
    *_each(
        "The inner parts of an adapter.",
        "models.anthropic_llm:AnthropicLlm.model", "models.anthropic_llm:Claude.model",
    ),
    Difference(
        "tools.discovery_engine_search_tool:DiscoveryEngineSearchTool.discovery_engine_search",
        "The search of DiscoveryEngineSearchTool is a coroutine function, so it blocks no loop.",
    ),
    Difference(
        "types:FunctionResponse.from_mcp_response",
        "A part of google-genai's own MCP client; McpTool makes the responses here.",
    ),
    Difference(
        "agents.mcp_instruction_provider:McpInstructionProvider",
        "InstructionProvider is a type of functions here, and an instance is one.",
    ),
    Difference(
        "tools.mcp_tool.mcp_session_manager:CheckableMcpHttpClientFactory",
        "A protocol of its own with the same call, so that the SDK loads at the first connection.",
    ),
    *_each(
        "The methods of BaseEvalService are async generators, as those of its subclasses are.",
        "evaluation.base_eval_service:BaseEvalService.perform_inference",
        "evaluation.base_eval_service:BaseEvalService.evaluate",
    ),
    *_each(
        "The type here takes the same values.",
        "agents.base_agent_config:BaseAgentConfig.agent_class",
        "apps.app:EventsCompactionConfig.summarizer",
        "tools.mcp_tool.mcp_toolset:McpToolsetConfig.auth_scheme",
        "code_executors.base_code_executor:BaseCodeExecutor.timeout_seconds",
        "code_executors.gke_code_executor:GkeCodeExecutor.timeout_seconds",
    ),
]  # fmt: skip

"""Allow list of Ostinato's own classes, tools and functions that an agent's file may name.

Used by `code_names`. A name that is not here needs the host's permission: tools that run commands
or code, and whatever reads files, opens addresses or imports modules by name.
"""

from __future__ import annotations

_AGENTS: dict[str, tuple[str, ...]] = {
    "agents": (
        "Agent",
        "BaseAgent",
        "LlmAgent",
        "LoopAgent",
        "ParallelAgent",
        "SequentialAgent",
    ),
    "agents.base_agent": ("BaseAgent",),
    "agents.llm_agent": ("Agent", "LlmAgent"),
    "agents.loop_agent": ("LoopAgent",),
    "agents.parallel_agent": ("ParallelAgent",),
    "agents.sequential_agent": ("SequentialAgent",),
}

_TOOLS: dict[str, tuple[str, ...]] = {
    "tools": (
        "AgentTool",
        "ExampleTool",
        "FunctionTool",
        "LongRunningFunctionTool",
        "TransferToAgentTool",
        "VertexAiSearchTool",
        "enterprise_web_search",
        "exit_loop",
        "get_user_choice",
        "google_maps_grounding",
        "google_search",
        "load_artifacts",
        "load_memory",
        "preload_memory",
        "request_input",
        "transfer_to_agent",
        "url_context",
    ),
    "tools.agent_tool": ("AgentTool",),
    "tools.enterprise_search_tool": ("EnterpriseWebSearchTool", "enterprise_web_search_tool"),
    "tools.example_tool": ("ExampleTool",),
    "tools.exit_loop_tool": ("exit_loop",),
    "tools.function_tool": ("FunctionTool",),
    "tools.get_user_choice_tool": ("get_user_choice", "get_user_choice_tool"),
    "tools.google_maps_grounding_tool": ("GoogleMapsGroundingTool", "google_maps_grounding"),
    "tools.google_search_tool": ("GoogleSearchTool", "google_search"),
    "tools.load_artifacts_tool": ("LoadArtifactsTool", "load_artifacts_tool"),
    "tools.load_memory_tool": ("LoadMemoryTool", "load_memory", "load_memory_tool"),
    # It connects to public addresses only; see `_public_address`.
    "tools.load_web_page": ("load_web_page",),
    "tools.long_running_tool": ("LongRunningFunctionTool",),
    "tools.preload_memory_tool": ("PreloadMemoryTool", "preload_memory_tool"),
    "tools.transfer_to_agent_tool": ("TransferToAgentTool", "transfer_to_agent"),
    "tools.url_context_tool": ("UrlContextTool", "url_context"),
    "tools.vertex_ai_search_tool": ("VertexAiSearchTool",),
}

ALLOWED_NAMES = frozenset(
    f"ostinato.{module}.{name}"
    for table in (_AGENTS, _TOOLS)
    for module, names in table.items()
    for name in names
)

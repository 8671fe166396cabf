"""The module paths and names that the specification gives can be imported (FEATURES row 220)."""

from __future__ import annotations

from importlib import import_module

import pytest

# The key file reference of the first document, and the imports of the fourth.
PATHS = {
    "agents": ["Agent", "BaseAgent", "LlmAgent"],
    "agents.base_agent": ["BaseAgent"],
    "agents.callback_context": ["CallbackContext"],
    "agents.context": ["Context"],
    "agents.context_cache_config": ["ContextCacheConfig"],
    "agents.invocation_context": [
        "InvocationContext",
        "LlmCallsLimitExceededError",
        "new_invocation_context_id",
    ],
    "agents.llm_agent": ["Agent", "LlmAgent"],
    "agents.loop_agent": ["LoopAgent"],
    "agents.parallel_agent": ["ParallelAgent"],
    "agents.readonly_context": ["ReadonlyContext"],
    "agents.run_config": ["RunConfig", "StreamingMode"],
    "agents.sequential_agent": ["SequentialAgent"],
    "apps": ["App"],
    "apps.app": ["App", "EventsCompactionConfig", "ResumabilityConfig"],
    "apps.compaction": [],
    "artifacts.gcs_artifact_service": ["GcsArtifactService"],
    "auth.credential_manager": ["CredentialManager"],
    "events": ["Event", "EventActions"],
    "events.event": ["Event", "NodeInfo"],
    "events.event_actions": ["EventActions", "EventCompaction"],
    "events.ui_widget": ["UiWidget"],
    "flows.llm_flows._base_llm_processor": [
        "BaseLlmRequestProcessor",
        "BaseLlmResponseProcessor",
    ],
    "flows.llm_flows._code_execution": ["request_processor", "response_processor"],
    "flows.llm_flows._nl_planning": ["request_processor", "response_processor"],
    "flows.llm_flows._output_schema_processor": ["request_processor"],
    "flows.llm_flows.agent_transfer": ["request_processor"],
    "flows.llm_flows.auth_preprocessor": ["request_processor"],
    "auth.auth_preprocessor": ["request_processor"],
    "flows.llm_flows.auto_flow": ["AutoFlow"],
    "flows.llm_flows.base_llm_flow": ["BaseLlmFlow"],
    "flows.llm_flows.basic": ["request_processor"],
    "flows.llm_flows.contents": ["request_processor"],
    "flows.llm_flows.context_cache_processor": ["request_processor"],
    "flows.llm_flows.functions": [
        "handle_function_calls_async",
        "merge_parallel_function_response_events",
        "populate_client_function_call_id",
    ],
    "flows.llm_flows.identity": ["request_processor"],
    "flows.llm_flows.instructions": ["request_processor"],
    "flows.llm_flows.interactions_processor": ["request_processor"],
    "flows.llm_flows.request_confirmation": ["request_processor"],
    "flows.llm_flows.single_flow": ["SingleFlow"],
    "memory.vertex_ai_memory_bank_service": ["VertexAiMemoryBankService"],
    "models.llm_request": ["LlmRequest"],
    "models.llm_response": ["LlmResponse"],
    "planners.built_in_planner": ["BuiltInPlanner"],
    "planners.plan_re_act_planner": ["PlanReActPlanner"],
    "plugins.base_plugin": ["BasePlugin"],
    "plugins.plugin_manager": ["PluginManager"],
    "runners": ["InMemoryRunner", "Runner"],
    "sessions.base_session_service": ["BaseSessionService", "GetSessionConfig"],
    "sessions.database_session_service": ["DatabaseSessionService"],
    "sessions.session": ["Session"],
    "sessions.state": ["State", "StateSchemaError"],
    "sessions.vertex_ai_session_service": ["VertexAiSessionService"],
    "tools.base_tool": ["BaseTool"],
    "tools.base_toolset": ["BaseToolset"],
    "tools.function_tool": ["FunctionTool"],
    "tools.tool_confirmation": ["ToolConfirmation"],
    "tools.tool_context": ["ToolContext"],
    "utils.run_config": ["RunConfig"],
}


@pytest.mark.spec(220)
@pytest.mark.parametrize("path", PATHS)
def test_the_path_and_its_names_can_be_imported(path: str) -> None:
    module = import_module(f"ostinato.{path}")
    assert [name for name in PATHS[path] if not hasattr(module, name)] == []
    assert set(PATHS[path]) <= set(dir(module))


@pytest.mark.spec(220)
@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ("agents.run_config", "utils.run_config", "RunConfig"),
        ("auth.auth_preprocessor", "flows.llm_flows.auth_preprocessor", "request_processor"),
        ("agents.callback_context", "tools.tool_context", "CallbackContext"),
        ("agents", "agents.llm_agent", "LlmAgent"),
    ],
)
def test_a_name_is_the_same_object_at_all_its_paths(one: str, other: str, name: str) -> None:
    also = "ToolContext" if other == "tools.tool_context" else name
    first = getattr(import_module(f"ostinato.{one}"), name)
    assert first is getattr(import_module(f"ostinato.{other}"), also)

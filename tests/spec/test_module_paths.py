"""The module paths that the specification names can be imported, and hold what it says they do
(Spec 1 §24, the table of Spec 4)."""

from __future__ import annotations

from importlib import import_module

import pytest

PATHS = {
    # Spec 1 §24
    "runners": "Runner",
    "agents.base_agent": "BaseAgent",
    "agents.llm_agent": "LlmAgent",
    "agents.invocation_context": "InvocationContext",
    "agents.callback_context": "CallbackContext",
    "agents.readonly_context": "ReadonlyContext",
    "flows.llm_flows.base_llm_flow": "BaseLlmFlow",
    "flows.llm_flows.single_flow": "SingleFlow",
    "flows.llm_flows.auto_flow": "AutoFlow",
    "flows.llm_flows.functions": "handle_function_calls_async",
    "flows.llm_flows.contents": "request_processor",
    "flows.llm_flows.instructions": "request_processor",
    "flows.llm_flows.agent_transfer": "request_processor",
    "flows.llm_flows._base_llm_processor": "BaseLlmRequestProcessor BaseLlmResponseProcessor",
    "models.llm_request": "LlmRequest",
    "models.llm_response": "LlmResponse",
    "events.event": "Event NodeInfo",
    "events.event_actions": "EventActions EventCompaction",
    "tools.base_tool": "BaseTool",
    "tools.function_tool": "FunctionTool",
    "tools.tool_context": "ToolContext",
    "tools.base_toolset": "BaseToolset",
    "sessions.session": "Session",
    "sessions.base_session_service": "BaseSessionService",
    "sessions.state": "State StateSchemaError",
    "agents.sequential_agent": "SequentialAgent",
    "agents.parallel_agent": "ParallelAgent",
    "agents.loop_agent": "LoopAgent",
    "plugins.base_plugin": "BasePlugin",
    "plugins.plugin_manager": "PluginManager",
    "planners.built_in_planner": "BuiltInPlanner",
    "planners.plan_re_act_planner": "PlanReActPlanner",
    "flows.llm_flows._nl_planning": "request_processor response_processor",
    "flows.llm_flows._code_execution": "request_processor response_processor",
    "flows.llm_flows._output_schema_processor": "request_processor",
    "flows.llm_flows.basic": "request_processor",
    "flows.llm_flows.identity": "request_processor",
    "flows.llm_flows.context_cache_processor": "request_processor",
    "flows.llm_flows.interactions_processor": "request_processor",
    "flows.llm_flows.auth_preprocessor": "request_processor",
    "flows.llm_flows.request_confirmation": "request_processor",
    "apps.compaction": "compact_sliding_window",
    "utils.run_config": "RunConfig",
    "auth.credential_manager": "CredentialManager",
    "tools.tool_confirmation": "ToolConfirmation",
    # Spec 4
    "agents.context_cache_config": "ContextCacheConfig",
    "sessions.database_session_service": "DatabaseSessionService",
    "sessions.vertex_ai_session_service": "VertexAiSessionService",
    "memory.vertex_ai_memory_bank_service": "VertexAiMemoryBankService",
}


@pytest.mark.spec(220)
@pytest.mark.parametrize("path", sorted(PATHS))
def test_a_specified_path_holds_what_it_should(path: str) -> None:
    module = import_module(f"ostinato.{path}")
    for name in PATHS[path].split():
        assert hasattr(module, name), f"ostinato.{path} has no {name}"

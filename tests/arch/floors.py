"""The floors of the house, lowest first, as literal tables. The rules in `rules.py` read them; to
give a new module a home, put its name here. A name stands for the module and all below it; the
longest match wins, so a folder can lie on one floor and a single file of it on another."""

from __future__ import annotations

PACKAGE = "ostinato"

FLOORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("lazy loading", ("_lazy",)),
    (
        "ground",
        (
            "_adk_mode",
            "_absences",
            "_bounded_body",
            "_clock",
            "_aclosing",
            "_lists",
            "_log",
            "_private_files",
            "_public_address",
            "_regular_files",
            "_secrets",
            "_shielded",
            "_task_group",
            "_words",
            "types",
            "errors",
            "features",
            "auth._record",
            "auth.auth_credential",
            "auth.auth_schemes",
            "auth.auth_tool",
            "auth.tool_confirmation",
            "version",
        ),
    ),
    (
        "model records",
        (
            "_aborted_tool",
            "_google_retries",
            "_optional",
            "_secret_values",
            "platform",
            "models.llm_request",
            "models.llm_response",
            "models.context_cache_config",
            "models.cache_metadata",
            "models.embedder",
        ),
    ),
    ("facts", ("_google_rest", "_shared_files", "events", "artifacts", "agent_files", "processes")),
    ("sessions", ("_vertex_rag", "sessions")),
    (
        "ports",
        (
            "durable.effect_notes",
            "environment",
            "memory",
            "models",
            "auth",
            "examples",
            "skills",
        ),
    ),
    ("context", ("context",)),
    ("doing", ("tools", "planners", "code_executors", "telemetry", "durable")),
    ("steering", ("plugins", "workflow", "tools.skills")),
    ("flows", ("flows",)),
    ("agents", ("agents",)),
    ("apps", ("apps",)),
    ("parts of the runner", ("execution",)),
    ("runners", ("runners",)),
    ("beside the runner", ("testing", "compat", "workers", "a2a", "agent_source")),
    ("what hosts share", ("hosting",)),
    ("public names of hosts", ("cli.service_registry", "cli.utils")),
    ("evaluation", ("evaluation",)),
    ("server", ("server",)),
    ("command line", ("cli",)),
    ("program", ("__main__",)),
)

# The three doors that may import late: lazy faces (through _lazy), _optional.need and the
# registry's strings.
LAZY_DOORS = ("_lazy", "_optional", "models.registry")

# Rooms whose work is to load the user's own modules by name.
LOADERS = ("agent_files", "cli", "server", "compat", "hosting")

# Underscore modules that every room may import; any other stays inside its own folder.
SHARED_UNDERSCORE_MODULES = frozenset(
    {
        "_absences",
        "_aborted_tool",
        "_aclosing",
        "_adk_mode",
        "_bounded_body",
        "_clock",
        "_google_rest",
        "_google_retries",
        "_lazy",
        "_lists",
        "_log",
        "_optional",
        "_public_address",
        "_regular_files",
        "_private_files",
        "_secret_values",
        "_secrets",
        "_shared_files",
        "_shielded",
        "_task_group",
        "_vertex_rag",
        "_words",
        "_ports",
        "_schema",
    }
)

# Adapters: the registry names them as strings, nobody imports them.
ADAPTERS = (
    "models.anthropic_llm",
    "models.apigee_llm",
    "models.azure_openai_llm",
    "models.bedrock_llm",
    "models.gemma_llm",
    "models.google_llm",
    "models.lite_llm",
    "models.offline_llm",
    "models.openai_llm",
    "models.openai_realtime_llm",
    "models.openai_responses_llm",
)

# Where environment variables may be read.
ENVIRONMENT_READERS = (
    "compat.__main__",
    "cli",
    "environment._local_environment",
    "server",
    "features.environment",
    "hosting.dotenv",
    "telemetry",
    "testing.crash_points",
    "models.providers",
    "models.registry",
    *ADAPTERS,
    "artifacts.gcs_artifact_service",
    "code_executors._kubernetes_client",
    "processes.container.container_cli",
    "sessions.agent_engine.agent_engine_client",
)

CLOCK = "_clock"
MAX_FILE_LINES = 600
MAX_ADAPTER_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_COMPLEXITY = 12
FORBIDDEN_FILE_NAMES = frozenset({"helpers", "helper", "common", "misc"})

# Private names that the specification itself gives, with the place that gives them ("Spec 2 §1.4"
# is section 1.4 of its second document). Only these may be reached from another class or module.
SPEC_PRIVATE_NAMES: dict[str, str] = {
    "_agent_names": "Spec 2 §8.1",
    "_base_llm_processor": "Spec 1 §24",
    "_build_transfer_instructions": "Spec 2 §8.4",
    "_call_llm_async": "Spec 1 §5",
    "_code_execution": "Spec 1 §6",
    "_contains_empty_content": "Spec 2 §4.1",
    "_convert_tool_union_to_tools": "Spec 2 §3.9",
    "_create_invocation_context": "Spec 2 §2.1",
    "_delta": "Spec 4, class State",
    "_exec_with_plugin": "Spec 1 §3",
    "_execute_single_function_call_async": "Spec 1 §10",
    "_finalize_model_response_event": "Spec 2 §6.2",
    "_find_agent_to_run": "Spec 1 §3",
    "_get_agent_to_run": "Spec 1 §9",
    "_get_contents": "Spec 2 §4.1",
    "_get_current_turn_contents": "Spec 2 §4.2",
    "_get_declaration": "Spec 2 §3.9",
    "_get_events": "Spec 1 §4",
    "_get_or_create_session": "Spec 2 §1.1",
    "_get_subagent_to_resume": "Spec 2 §10.2",
    "_get_transfer_targets": "Spec 2 §3.7",
    "_handle_after_model_callback": "Spec 1 §8",
    "_handle_before_model_callback": "Spec 1 §8",
    "_invocation_cost_manager": "Spec 1 §4",
    "_is_event_belongs_to_branch": "Spec 2 §4.3",
    "_is_part_invisible": "Spec 2 §4.3",
    "_is_transferable_across_agent_tree": "Spec 2 §1.4",
    "_llm_flow": "Spec 1 §2",
    "_load_agent_state": "Spec 2 §2.1",
    "_merge_function_response_events": "Spec 2 §4.4",
    "_new_invocation_context": "Spec 2 §1.2",
    "_nl_planning": "Spec 1 §6",
    "_output_schema_processor": "Spec 2 §3.8",
    "_postprocess_handle_function_calls_async": "Spec 1 §5",
    "_preprocess_async": "Spec 1 §5",
    "_rearrange_events_for_async_function_responses_in_history": "Spec 2 §4.1",
    "_rearrange_events_for_latest_function_response": "Spec 2 §4.1",
    "_run_and_handle_error": "Spec 2 §5.1",
    "_run_async_impl": "Spec 1 §2",
    "_run_impl": "Spec 4, class BaseNode",
    "_run_live_impl": "Spec 1 §2",
    "_run_on_model_error_callbacks": "Spec 1 §8",
    "_run_one_step_async": "Spec 1 §5",
    "_setup_context_for_new_invocation": "Spec 2 §1.1",
    "_setup_context_for_resumed_invocation": "Spec 2 §1.1",
    "_should_include_event_in_context": "Spec 2 §4.1",
    "_value": "Spec 4, class State",
}

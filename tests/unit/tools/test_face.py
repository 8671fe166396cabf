"""The faces of the tools and plugins: every name they list can be had, from where it lives."""

import ast
import importlib
import subprocess
import sys

import pytest

from ostinato import plugins, tools


@pytest.mark.parametrize(
    "face",
    [
        "ostinato.tools",
        "ostinato.tools.tool_context",
        "ostinato.tools.tool_confirmation",
        "ostinato.plugins",
        "ostinato.examples",
    ],
)
def test_every_listed_name_can_be_had(face: str) -> None:
    module = importlib.import_module(face)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.spec(129)
def test_the_names_are_those_that_users_know() -> None:
    assert {
        "AgentTool",
        "BaseTool",
        "ExampleTool",
        "FunctionTool",
        "LongRunningFunctionTool",
        "ToolContext",
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
    } <= set(tools.__all__)
    assert {
        "BasePlugin",
        "DebugLoggingPlugin",
        "LoggingPlugin",
        "PluginManager",
        "ReflectAndRetryModelPlugin",
        "ReflectAndRetryToolPlugin",
        "ToolCallIntegrityError",
        "ToolCallIntegrityPlugin",
    } <= set(plugins.__all__)


def test_one_tool_loads_no_other() -> None:
    script = (
        "import sys\nfrom ostinato.tools import FunctionTool\n"
        "from ostinato.runners import Runner\n"
        "print([m for m in sys.modules if m.startswith('ostinato.tools.') or "
        "m.startswith('ostinato.plugins.') or m.startswith('ostinato.examples')])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.rpartition(".")[2] for name in ast.literal_eval(done.stdout)}
    assert "function_tool" in loaded
    assert not loaded & {
        "bash_tool",
        "debug_logging_plugin",
        "example_tool",
        "examples",
        "load_artifacts_tool",
        "load_memory_tool",
        "load_web_page",
        "google_search_tool",
    }

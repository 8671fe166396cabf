"""The faces of the tools and plugins: every name they list can be had, from where it lives."""

import importlib

import pytest

from ostinato import plugins, tools


@pytest.mark.parametrize(
    "face",
    [
        "ostinato.tools",
        "ostinato.tools.tool_context",
        "ostinato.tools.tool_confirmation",
        "ostinato.plugins",
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
        "FunctionTool",
        "LongRunningFunctionTool",
        "ToolContext",
        "TransferToAgentTool",
        "exit_loop",
        "transfer_to_agent",
    } <= set(tools.__all__)
    assert {"BasePlugin", "PluginManager"} <= set(plugins.__all__)

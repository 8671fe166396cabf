"""Makes tool contexts for tests: a run whose agent is only a name, with a session of its own."""

from types import SimpleNamespace
from typing import Any

from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.context.context import Context
from ostinato.context.invocation import InvocationContext
from ostinato.context.run_config import RunConfig
from ostinato.context.services import RunServices
from ostinato.sessions.session import Session


def make_invocation(
    *,
    run_config: RunConfig | None = None,
    state: dict[str, Any] | None = None,
    spawn: Any = None,
) -> InvocationContext:
    """Return a run of the agent `caller`."""
    return InvocationContext(
        session_service=None,
        invocation_id="e-1",
        agent=SimpleNamespace(name="caller", parent_agent=None),
        session=Session(id="s", app_name="app", user_id="user", state=state or {}),
        run_config=run_config,
        services=RunServices(spawn=spawn),
    )


def make_context(
    *,
    sync_tools: Any = "inline",
    confirmation: ToolConfirmation | None = None,
    state: dict[str, Any] | None = None,
    spawn: Any = None,
    **settings: Any,
) -> Context:
    """Return the context of the tool call `call-1`."""
    run_config = RunConfig(sync_tools=sync_tools, **settings)
    invocation = make_invocation(run_config=run_config, state=state, spawn=spawn)
    return Context(invocation, function_call_id="call-1", tool_confirmation=confirmation)

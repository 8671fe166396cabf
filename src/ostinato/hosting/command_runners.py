"""Runners for the commands, over the services that their options name."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from ..memory.in_memory_memory_service import InMemoryMemoryService
from ..runners import Runner
from ..sessions.base_session_service import BaseSessionService
from ..tools import policy as policies
from .loader import LoadedAgent
from .places import Places
from .stores import Store, open_files_beside, store_of

if TYPE_CHECKING:
    from ..tools.policy.policy import Policy

THROUGH_ALIAS = (
    "This agent imports google.adk and gets Ostinato under that name. As in google-adk, plain "
    "`def` tools run on the event loop, one at a time."
)

__all__ = ["THROUGH_ALIAS", "Store", "closing_runner", "read_policy", "runner_of", "store_of"]


@asynccontextmanager
async def closing_runner(runner: Runner, sessions: Store) -> AsyncGenerator[None]:
    """Close a runner and its store at the end of a block."""
    try:
        yield
    finally:
        await runner.close()
        await sessions.close()


def read_policy(file: str | None) -> Policy | None:
    """Return the policy of the option `--policy`, or None without it.

    Raises:
      AgentFileError: the file is no policy.
    """
    return None if file is None else policies.load_policy(file)


def runner_of(
    loaded: LoadedAgent, sessions: BaseSessionService, places: Places, **options: Any
) -> Runner:
    """Return a runner for a loaded agent, with files beside the sessions.

    Raises:
      SetupError: no files can be kept there.
    """
    services: dict[str, Any] = {
        "session_service": sessions,
        "artifact_service": open_files_beside(places),
        "memory_service": InMemoryMemoryService(),
        **options,
    }
    if loaded.app is not None:
        return Runner(app=loaded.app, **services)
    return Runner(agent=loaded.root, app_name=loaded.app_name, **services)

"""AgentLoader: the agents of a folder by name, each imported once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..._absences import refuse_absent
from ..._log import get_logger
from ...agents.node_agent import NodeAgent, as_agent
from ...apps.app import App
from ...context.node import BaseNode
from ...hosting.loader import (
    AGENT_FILE,
    forget_modules,
    language_of,
    load_agent,
    uses_computer,
)
from ...hosting.setup_error import SetupError
from .base_agent_loader import BaseAgentLoader

logger = get_logger(__name__)

_NAME = re.compile(r"\w+")

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


def is_single_agent_directory(path: Path | str) -> bool:
    """Return whether a folder is itself an agent: it holds agent.py or root_agent.yaml.

    Args:
      path: the folder.
    """
    return any((Path(path) / name).is_file() for name in ("agent.py", AGENT_FILE))


class AgentImportError(ValueError, ImportError):
    """An import of an agent's code failed; programs for google-adk catch the ImportError."""


class AgentModuleNotFoundError(AgentImportError, ModuleNotFoundError):
    """An agent's code imports a module that is not installed."""


class AgentLoader(BaseAgentLoader):
    """The agents of a folder: one per sub-folder or Python file, or the folder itself.

    Args:
      agents_dir: the folder of the agents, or the folder of one agent.
    """

    def __init__(self, agents_dir: str | Path) -> None:
        folder = Path(agents_dir).expanduser().resolve()
        self._single = folder.name if is_single_agent_directory(folder) else None
        self._folder = folder.parent if self._single else folder
        self._loaded: dict[str, BaseNode | App] = {}

    @property
    def is_single_agent(self) -> bool:
        """Whether the folder is that of one agent."""
        return self._single is not None

    @property
    def single_agent_name(self) -> str | None:
        """Name of the one agent; None for a folder of agents."""
        return self._single

    def list_agents(self) -> list[str]:
        """Return the names of the sub-folders, sorted, whether or not they can be loaded.

        Raises:
          FileNotFoundError: the folder does not exist.
        """
        if self._single is not None:
            return [self._single]
        return sorted(
            one.name
            for one in self._folder.iterdir()
            if one.is_dir() and not one.name.startswith(".") and one.name != "__pycache__"
        )

    def list_agents_detailed(self) -> list[dict[str, Any]]:
        """Return name, root agent, description, language and computer use of each agent.

        An agent that cannot be loaded is left out, and the log says why.
        """
        found: list[dict[str, Any]] = []
        for name in self.list_agents():
            try:
                loaded = self.load_agent(name)
            except Exception as error:  # boundary: the code of an agent may raise anything
                logger.error("Agent %s cannot be loaded: %s", name, error)
                continue
            root = as_agent(loaded.root_agent if isinstance(loaded, App) else loaded)
            found.append(
                {
                    "name": name,
                    "root_agent_name": root.name,
                    "description": root.description,
                    "language": language_of(self._place_of(name)),
                    "is_computer_use": uses_computer(root),
                }
            )
        return found

    def load_agent(self, agent_name: str) -> BaseNode | App:
        """Return an agent, a workflow or an App; the same object until it is removed.

        The variables of the agent's `.env` go into the environment, unless they are set.

        Args:
          agent_name: name of a sub-folder, or of a Python file without its ending.

        Raises:
          ValueError: the name is invalid, there is no such agent, or it has no root agent.
          AgentImportError: its code imports what is not there; a ValueError and ImportError.
          Exception: what the agent's own code raised when it was imported.
        """
        if agent_name not in self._loaded:
            self._loaded[agent_name] = self._load_from_folder(agent_name)
        return self._loaded[agent_name]

    def remove_agent_from_cache(self, agent_name: str) -> None:
        """Import an agent anew the next time; its modules are forgotten.

        Args:
          agent_name: the agent's name; an unknown one changes nothing.
        """
        if self._loaded.pop(agent_name, None) is not None:
            forget_modules(self._place_of(agent_name))

    def _place_of(self, name: str) -> Path:
        file = self._folder / f"{name}.py"
        return file if file.is_file() else self._folder / name

    def _load_from_folder(self, name: str) -> BaseNode | App:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"Invalid agent name: {name!r}. It may have letters, digits and underscores; "
                "rename the agent's folder."
            )
        if self._single not in (None, name):
            raise ValueError(
                f"Agent not found: {name!r}. The folder is that of one agent, {self._single!r}."
            )
        place = self._place_of(name)
        if not place.exists():
            raise ValueError(f"Agent not found: {name!r}. {self._folder} has no such folder.")
        try:
            loaded = load_agent(str(place))
        except SetupError as error:
            cause = error.__cause__
            if isinstance(cause, Exception) and not isinstance(cause, ImportError):
                cause.add_note(error.message)
                raise cause from None
            kind = ValueError
            if isinstance(cause, ImportError):
                is_missing = isinstance(cause, ModuleNotFoundError)
                kind = AgentModuleNotFoundError if is_missing else AgentImportError
            raise kind(f"Agent {name!r} cannot be loaded: {error.message}") from error
        if loaded.app is not None:
            return loaded.app
        return loaded.root.root_node if isinstance(loaded.root, NodeAgent) else loaded.root

"""AgentFolder: the apps of a server, each a sub-folder with an agent; loaded when first asked for.

A folder that cannot be loaded tells why, and the others go on working.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from .._log import get_logger
from ..errors import NotFoundError
from ..hosting.failure import SetupError
from ..hosting.loader import Loaded, has_agent, load
from ..hosting.services import THROUGH_ALIAS
from ..plugins.base_plugin import BasePlugin
from ..runners import Runner
from .problems import Problem
from .services import Services
from .settings import ServerSettings

logger = get_logger(__name__)

_WATCHED = (".py", ".yaml", ".yml", ".env", ".json", ".md", ".txt")

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class ServedApp:
    """An app that has been loaded.

    Attributes:
      name: its folder's name; sessions are kept under it.
      runner: runs it.
      loaded: its agents.
      stamp: its files when it was loaded.
      lease_seconds: how long a session stays its process's, where that is not heard of.
    """

    name: str
    runner: Runner
    loaded: Loaded
    stamp: Stamp
    lease_seconds: float

    def runner_with(self, plugin: BasePlugin) -> Runner:
        """Return a runner for one run with a plugin besides the app's own; it is not closed, for
        what it works with is the app's.
        """
        own = self.runner
        plugins = [*own.app.plugins, plugin]
        return Runner(
            app=own.app.model_copy(update={"plugins": plugins, "root_agent": own.agent}),
            app_name=own.app_name,
            session_service=own.session_service,
            artifact_service=own.artifact_service,
            memory_service=own.memory_service,
            lease_seconds=self.lease_seconds,
        )


class AgentFolder:
    """The apps of a folder.

    Args:
      settings: where they are, and whether they are loaded again when they change.
      services: what their runners keep things in.
    """

    def __init__(self, settings: ServerSettings, services: Services) -> None:
        self._settings = settings
        self._services = services
        self._apps: dict[str, ServedApp] = {}
        self._failed: dict[str, tuple[Stamp, SetupError]] = {}
        self._retired: list[Runner] = []
        self._lock = asyncio.Lock()  # one import at a time: `sys.modules` is everybody's

    def folders(self) -> dict[str, Path]:
        """Return the apps that there are, by name, whether or not they can be loaded."""
        root = self._settings.agents.expanduser().resolve()
        if _is_agent(root):
            return {root.name: root}
        try:
            found = sorted(root.iterdir())
        except OSError:
            return {}
        return {one.name: one for one in found if one.name[0] not in "._" and _is_agent(one)}

    def loaded(self) -> list[ServedApp]:
        """Return the apps that have been loaded."""
        return list(self._apps.values())

    async def get(self, name: str) -> ServedApp:
        """Return an app; load it where it has not been, or has changed and that is looked at.

        Raises:
          NotFoundError: there is no app of this name.
          Problem: it cannot be loaded.
        """
        app = self._apps.get(name)
        if app is not None and not self._settings.reload:
            return app
        folder = self.folders().get(name)
        if folder is None:
            raise NotFoundError(f"Agent not found: {name!r}")
        async with self._lock:
            stamp = await asyncio.to_thread(_stamp, folder) if self._settings.reload else ()
            app = self._apps.get(name)
            if app is not None and app.stamp == stamp:
                return app
            failed = self._failed.get(name)
            if failed is not None and failed[0] == stamp and self._settings.reload:
                raise self._problem(name, failed[1])
            return await self._load(name, folder, stamp)

    async def _load(self, name: str, folder: Path, stamp: Stamp) -> ServedApp:
        old = self._apps.pop(name, None)
        if old is not None:
            logger.info("App %s has changed and is loaded again.", name)
            self._retired.append(old.runner)  # its runs go on to their end
        _forget(folder)
        try:
            allowed = self._settings.allow_code_from
            loaded = await asyncio.to_thread(load, str(folder), allowed)
            runner = self._runner(name, loaded)
        except SetupError as error:
            error = SetupError(_without_folder(error.message, folder), missing=error.missing)
            self._failed[name] = (stamp, error)
            logger.error("App %s cannot be loaded: %s", name, error.message)
            raise self._problem(name, error) from None
        self._failed.pop(name, None)
        if loaded.through_alias:
            logger.info(THROUGH_ALIAS)
        app = self._apps[name] = ServedApp(
            name, runner, loaded, stamp, self._settings.lease_seconds
        )
        return app

    def _runner(self, name: str, loaded: Loaded) -> Runner:
        services = self._services
        try:
            return Runner(
                app=loaded.app,
                agent=loaded.root if loaded.app is None else None,
                app_name=name,
                session_service=services.sessions,
                artifact_service=services.artifacts,
                memory_service=services.memories,
                lease_seconds=self._settings.lease_seconds,
            )
        except (ValueError, NotImplementedError) as error:  # a tree that cannot work
            raise SetupError(f"{type(error).__name__}: {error}") from error

    def _problem(self, name: str, error: SetupError) -> Problem:
        """Tell the developer why; others only that."""
        if self._settings.reload:
            return Problem(503, "AgentLoadError", f"App {name!r} cannot be loaded: {error.message}")
        return Problem(
            503, "AgentLoadError", f"App {name!r} cannot be loaded; the server's log says why."
        )

    async def close(self) -> None:
        """Close the runners."""
        for runner in [*self._retired, *(app.runner for app in self._apps.values())]:
            await runner.close()
        self._apps.clear()
        self._retired.clear()


def _is_agent(folder: Path) -> bool:
    return folder.is_dir() and has_agent(folder)


def _stamp(folder: Path) -> Stamp:
    """Return what tells whether the files of a folder have changed."""
    found: list[tuple[str, int, int]] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in files:
            if name.endswith(_WATCHED):
                try:
                    state = os.stat(os.path.join(place, name))
                except OSError:  # it was removed just now
                    continue
                found.append((os.path.join(place, name), state.st_mtime_ns, state.st_size))
    return tuple(sorted(found))


def _forget(folder: Path) -> None:
    """Have the modules of a folder imported again."""
    root = str(folder) + os.sep
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        places = [str(place) + os.sep for place in getattr(module, "__path__", None) or ()]
        if (file is not None and str(file).startswith(root)) or root in places:
            del sys.modules[name]


def _without_folder(message: str, folder: Path) -> str:
    """Name files from the app's folder on, not from the root of the disk."""
    for shown in sorted((str(folder), os.path.relpath(folder)), key=len, reverse=True):
        message = message.replace(shown + os.sep, folder.name + os.sep).replace(shown, folder.name)
    return message

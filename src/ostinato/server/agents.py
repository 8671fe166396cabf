"""AgentFolder: the apps of a server, from its folder or from the program's own loader.

Each app is loaded at its first request. One that cannot be loaded does not affect the others.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._log import get_logger
from ..agents.base_agent import BaseAgent
from ..agents.node_agent import as_agent
from ..apps.app import App
from ..cli.utils.base_agent_loader import BaseAgentLoader
from ..compat.alias import is_installed
from ..errors import NotFoundError
from ..hosting.command_runners import THROUGH_ALIAS
from ..hosting.load_failure import explain_import
from ..hosting.loader import LoadedAgent, forget_modules, has_agent, load_agent, make_plugins
from ..hosting.setup_error import SetupError
from ..hosting.stand_in import stand_in, stand_in_notice
from ..plugins.base_plugin import BasePlugin
from ..runners import Runner
from ..tools import policy as policies
from .names import check_id
from .problems import Problem
from .server_services import Services
from .settings import ServerSettings
from .source_place import SourcePlace, read_source

if TYPE_CHECKING:
    from ..tools.policy.policy import Policy

logger = get_logger(__name__)

_WATCHED = (".py", ".yaml", ".yml", ".env", ".json", ".md", ".txt")

FileStamps = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class ServedApp:
    """A loaded app.

    Attributes:
      name: its folder's name, which is the app name of its sessions.
      runner: its runner.
      loaded: its agents.
      stamp: the state of its files when it was loaded.
      lease_seconds: the length of its session leases.
      policy: the server's rules about tool calls, or None.
      notice: a notice to its user before the first message, or empty.
    """

    name: str
    runner: Runner
    loaded: LoadedAgent
    stamp: FileStamps
    lease_seconds: float
    policy: Policy | None = None
    notice: str = ""

    def runner_with(self, plugin: BasePlugin) -> Runner:
        """Return a runner for one run with an additional plugin.

        It shares the services of the app's runner, so it must not be closed.
        """
        own = self.runner
        return self._make_runner(own.agent, [*own.app.plugins, plugin])

    def runner_with_root(self, root: BaseAgent) -> Runner:
        """Return a runner for one run of other agents; it must not be closed."""
        return self._make_runner(root, self.runner.app.plugins)

    def _make_runner(self, root: BaseAgent, plugins: list[BasePlugin]) -> Runner:
        own = self.runner
        return Runner(
            app=own.app.model_copy(update={"plugins": plugins, "root_agent": root}),
            app_name=own.app_name,
            session_service=own.session_service,
            artifact_service=own.artifact_service,
            memory_service=own.memory_service,
            lease_seconds=self.lease_seconds,
            policy=self.policy,
        )


class AgentFolder:
    """The apps of a server, by name.

    Args:
      settings: the folder, and whether to reload changed apps.
      services: the services of the runners.
      loader: loads the apps instead of the folder; None for the folder.
    """

    def __init__(
        self, settings: ServerSettings, services: Services, loader: BaseAgentLoader | None = None
    ) -> None:
        self._loader = loader
        self._settings = settings
        self._services = services
        self._policy = None if settings.policy is None else policies.load_policy(settings.policy)
        self._apps: dict[str, ServedApp] = {}
        self._failed: dict[str, tuple[FileStamps, SetupError]] = {}
        self._retired: list[Runner] = []
        self._lock = asyncio.Lock()  # one import at a time: all of them change `sys.modules`

    def list_folders(self) -> dict[str, Path]:
        """Return the folders of all apps by name, whether or not they can be loaded."""
        root = self._settings.agents.expanduser().resolve()
        if self._loader is not None:
            return {name: root / name for name in self._loader.list_agents()}
        if _is_agent(root):
            return {root.name: root}
        try:
            found = sorted(root.iterdir())
        except OSError:
            return {}
        return {one.name: one for one in found if one.name[0] not in "._" and _is_agent(one)}

    def loaded_apps(self) -> list[ServedApp]:
        """Return the loaded apps."""
        return list(self._apps.values())

    async def get_app(self, name: str) -> ServedApp:
        """Return an app; load it at first, and again after a change if `reload` is set.

        Raises:
          InputValidationError: the name is not valid.
          NotFoundError: there is no app of this name.
          Problem: the app cannot be loaded.
        """
        app = self._apps.get(check_id("app name", name))
        if app is not None and not self._settings.reload:
            return app
        folder = self.list_folders().get(name)
        if folder is None:
            raise NotFoundError(f"Agent not found: {name!r}")
        async with self._lock:
            stamp = await asyncio.to_thread(_read_stamps, folder) if self._settings.reload else ()
            app = self._apps.get(name)
            if app is not None and app.stamp == stamp:
                return app
            failed = self._failed.get(name)
            if failed is not None and failed[0] == stamp and self._settings.reload:
                raise self._load_problem(name, failed[1])
            return await self._load_app(name, folder, stamp)

    async def _load_app(self, name: str, folder: Path, stamp: FileStamps) -> ServedApp:
        old = self._apps.pop(name, None)
        if old is not None:
            logger.info("App %s has changed; reloading it.", name)
            self._retired.append(old.runner)  # its runs continue to their end
        try:
            loaded = await asyncio.to_thread(self._load_in_thread, name, folder)
            missing = stand_in(loaded.root) if self._settings.stand_in else {}
            runner = self._make_runner(name, loaded)
        except SetupError as error:
            message = _without_folder(error.message, folder)
            error = SetupError(message, missing=error.missing, file=error.file, line=error.line)
            self._failed[name] = (stamp, error)
            logger.error("App %s cannot be loaded: %s", name, error.message)
            raise self._load_problem(name, error) from None
        self._failed.pop(name, None)
        if loaded.through_alias:
            logger.info(THROUGH_ALIAS)
        notice = stand_in_notice(missing) if missing else ""
        if notice:
            logger.warning("App %s: %s", name, notice)
        app = self._apps[name] = ServedApp(
            name, runner, loaded, stamp, self._settings.lease_seconds, self._policy, notice
        )
        return app

    def _load_in_thread(self, name: str, folder: Path) -> LoadedAgent:
        """Load an app in a thread, which no Ctrl+C interrupts.

        Raises:
          SetupError: the app cannot be loaded.
        """
        try:
            if self._loader is not None:
                return _load_with(self._loader, name, folder)
            forget_modules(folder)
            return load_agent(str(folder), self._settings.allow_code_from)
        except KeyboardInterrupt as error:
            raise SetupError(f"{folder} raised KeyboardInterrupt during its import.") from error

    def _make_runner(self, name: str, loaded: LoadedAgent) -> Runner:
        services = self._services
        try:
            plugins, app = make_plugins(self._settings.plugins), loaded.app
            if app is not None and plugins:
                app = app.model_copy(update={"plugins": [*app.plugins, *plugins]})
            return Runner(
                app=app,
                agent=loaded.root if app is None else None,
                plugins=plugins if app is None else None,
                app_name=name,
                session_service=services.sessions,
                artifact_service=services.artifacts,
                memory_service=services.memories,
                lease_seconds=self._settings.lease_seconds,
                policy=self._policy,
            )
        except (ValueError, NotImplementedError) as error:  # a tree that cannot work
            raise SetupError(f"{type(error).__name__}: {error}") from error

    def find_source(self, name: str) -> SourcePlace | None:
        """Return the place in the code at which an app failed to load, for its developer only."""
        failed, folder = self._failed.get(name), self.list_folders().get(name)
        if failed is None or folder is None or not self._settings.developer:
            return None
        return read_source(folder, failed[1])

    def _load_problem(self, name: str, error: SetupError) -> Problem:
        """Return the problem of a failed load; only a developer gets the reason."""
        if self._settings.reload:
            return Problem(503, "AgentLoadError", f"App {name!r} cannot be loaded: {error.message}")
        return Problem(
            503, "AgentLoadError", f"App {name!r} cannot be loaded; see the server's log."
        )

    async def close(self) -> None:
        """Close the runners."""
        for runner in [*self._retired, *(app.runner for app in self._apps.values())]:
            await runner.close()
        self._apps.clear()
        self._retired.clear()


def _load_with(loader: BaseAgentLoader, name: str, folder: Path) -> LoadedAgent:
    """Load an app with the program's own loader.

    Raises:
      SetupError: the loader failed.
    """
    forget_loaded = getattr(loader, "remove_agent_from_cache", None)
    if forget_loaded is not None:
        forget_loaded(name)
    try:
        found: Any = loader.load_agent(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # boundary: the loader is the program's own
        raise explain_import(error, folder) from error
    app = found if isinstance(found, App) else None
    root = as_agent(found if app is None else app.root_agent)
    return LoadedAgent(app, root, name, folder, [], is_installed())


def _is_agent(folder: Path) -> bool:
    return folder.is_dir() and has_agent(folder)


def _read_stamps(folder: Path) -> FileStamps:
    """Return the state of a folder's files, for detecting changes."""
    found: list[tuple[str, int, int]] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in files:
            if name.endswith(_WATCHED):
                try:
                    state = os.stat(os.path.join(place, name))
                except OSError:  # removed in the meantime
                    continue
                found.append((os.path.join(place, name), state.st_mtime_ns, state.st_size))
    return tuple(sorted(found))


def _without_folder(message: str, folder: Path) -> str:
    """Shorten paths in a message to start at the app's folder."""
    for shown in sorted((str(folder), os.path.relpath(folder)), key=len, reverse=True):
        message = message.replace(shown + os.sep, folder.name + os.sep).replace(shown, folder.name)
    return message

"""ServiceRegistry: the factories of services by URI scheme, those of an agents folder among them.

An agents folder registers its own in `services.yaml` (or `.yml`) and `services.py`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from .._log import get_logger
from .._optional import need
from ..artifacts.base_artifact_service import BaseArtifactService
from ..errors import InputValidationError
from ..hosting.setup_error import SetupError
from ..hosting.store_address import mask_secrets
from ..hosting.stores import open_artifacts, open_memories, open_sessions
from ..memory.base_memory_service import BaseMemoryService
from ..sessions.base_session_service import BaseSessionService

logger = get_logger(__name__)

Kind = Literal["session", "artifact", "memory"]

_BUILT_IN: Mapping[Kind, frozenset[str]] = {
    "session": frozenset(("memory", "sqlite", "postgresql", "postgres", "mysql", "mariadb"))
    | {"agentengine"},
    "artifact": frozenset(("memory", "gs", "file")),
    "memory": frozenset(("memory", "sqlite", "agentengine")),
}


class ServiceFactory(Protocol):
    """Makes a service from a URI."""

    def __call__(self, uri: str, **kwargs: Any) -> Any:
        """Return the service.

        Args:
          uri: the URI as it was given.
          kwargs: `agents_dir`, and what the caller adds.
        """
        ...


class ServiceRegistry:
    """Makes services from URIs; a registered scheme takes precedence over a built-in one."""

    def __init__(self) -> None:
        self._factories: dict[tuple[Kind, str], ServiceFactory] = {}

    def register_session_service(self, scheme: str, factory: ServiceFactory) -> None:
        """Let a factory make the session services of a scheme.

        Args:
          scheme: what stands before `://`.
          factory: called with the URI and keyword arguments, `agents_dir` among them.
        """
        self._add_factory("session", scheme, factory)

    def register_artifact_service(self, scheme: str, factory: ServiceFactory) -> None:
        """Let a factory make the artifact services of a scheme; see register_session_service."""
        self._add_factory("artifact", scheme, factory)

    def register_memory_service(self, scheme: str, factory: ServiceFactory) -> None:
        """Let a factory make the memory services of a scheme; see register_session_service."""
        self._add_factory("memory", scheme, factory)

    def create_session_service(self, uri: str, **kwargs: Any) -> BaseSessionService | None:
        """Return the session service that a URI names, or None for an unknown scheme.

        Args:
          uri: such as `sqlite:///sessions.db`.
          kwargs: for the factory; `agents_dir` is not handed to a built-in service.

        Raises:
          ValueError: the URI of a built-in scheme is wrong, or its service takes no such argument.
          MissingExtraError: the driver of its database is not installed.
        """
        if self.is_registered("session", uri):
            return self._make_service("session", uri, kwargs)
        options = _factory_options(kwargs)
        return self._open_builtin("session", uri, lambda: open_sessions(uri, options))

    def create_artifact_service(self, uri: str, **kwargs: Any) -> BaseArtifactService | None:
        """Return the artifact service that a URI names, or None for an unknown scheme."""
        if self.is_registered("artifact", uri):
            return self._make_service("artifact", uri, kwargs)
        _refuse_options("artifact", kwargs)
        return self._open_builtin("artifact", uri, lambda: open_artifacts(uri, None))

    def create_memory_service(self, uri: str, **kwargs: Any) -> BaseMemoryService | None:
        """Return the memory service that a URI names, or None for an unknown scheme."""
        if self.is_registered("memory", uri):
            return self._make_service("memory", uri, kwargs)
        _refuse_options("memory", kwargs)
        return self._open_builtin("memory", uri, lambda: open_memories(uri, None))

    def is_registered(self, kind: Kind, uri: str) -> bool:
        """Return whether a factory was registered for the scheme of a URI."""
        return (kind, _scheme_of(uri)) in self._factories

    def _add_factory(self, kind: Kind, scheme: str, factory: ServiceFactory) -> None:
        self._factories[kind, scheme.lower()] = factory

    def _make_service(self, kind: Kind, uri: str, kwargs: dict[str, Any]) -> Any:
        return self._factories[kind, _scheme_of(uri)](uri, **kwargs)

    @staticmethod
    def _open_builtin(kind: Kind, uri: str, make: Any) -> Any:
        if _scheme_of(uri).partition("+")[0] not in _BUILT_IN[kind]:
            return None
        try:
            return make()
        except SetupError as error:
            raise ValueError(error.message) from error


@cache
def get_service_registry() -> ServiceRegistry:
    """Return the registry of this process."""
    return ServiceRegistry()


def load_services_module(agents_dir: str | Path) -> None:
    """Register what `services.yaml` (or `.yml`) and `services.py` of a folder name; once.

    The YAML file comes first, so that `services.py` overrides it. A file that fails is logged.

    Args:
      agents_dir: the folder of the agents; a folder without these files changes nothing.
    """
    _load_services(Path(agents_dir).expanduser().resolve())


@cache
def _load_services(folder: Path) -> None:
    for name, load in (
        ("services.yaml", _load_yaml),
        ("services.yml", _load_yaml),
        ("services.py", _run_module),
    ):
        file = folder / name
        if not file.is_file():
            continue
        if str(folder) not in sys.path:
            sys.path.append(str(folder))  # the classes of the file are often the folder's own
        try:
            load(file)
        except Exception as error:  # boundary: the user's own code
            logger.error(
                "Services of %s cannot be registered: %s: %s",
                file,
                type(error).__name__,
                mask_secrets(str(error)),
            )


def _run_module(file: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"ostinato_services_of_{file.parent.name}", file)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _load_yaml(file: Path) -> None:
    found = need("yaml", extra="yaml").safe_load(file.read_text("utf-8"))
    services = cast(dict[str, Any], found).get("services") if isinstance(found, dict) else None
    if not isinstance(services, list):
        raise InputValidationError("it has no list under `services`")
    for entry in cast(list[Any], services):
        _register_entry(file, entry)


def _register_entry(file: Path, entry: Any) -> None:
    """Register one entry of a YAML file; a wrong one is logged, and the others still hold."""
    names = cast(dict[str, Any], entry) if isinstance(entry, dict) else {}
    scheme, kind, path = (str(names.get(key) or "") for key in ("scheme", "type", "class"))
    if kind not in _BUILT_IN or not scheme or not path:
        logger.error(
            "%s: an entry has `scheme`, `type` (session, artifact or memory) and `class`, unlike "
            "%r.",
            file,
            names,
        )
        return
    module, _, name = path.rpartition(".")
    try:
        made: Any = getattr(import_module(module), name)
    except Exception as error:  # boundary: the user's own module
        logger.error("%s: class %s cannot be imported: %s", file, path, error)
        return

    def make(uri: str, **kwargs: Any) -> Any:
        return made(uri=uri, **kwargs)

    registry = get_service_registry()
    register = {
        "session": registry.register_session_service,
        "artifact": registry.register_artifact_service,
        "memory": registry.register_memory_service,
    }[kind]
    register(scheme, make)


def _scheme_of(uri: str) -> str:
    scheme, separator, _ = uri.partition("://")
    return scheme.lower() if separator else ""


def _factory_options(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name != "agents_dir"}


def _refuse_options(kind: Kind, kwargs: dict[str, Any]) -> None:
    """Refuse arguments that no built-in service of a kind takes.

    Raises:
      ValueError: there is one besides `agents_dir`.
    """
    options = _factory_options(kwargs)
    if options:
        raise InputValidationError(
            f"The built-in {kind} services take no {', '.join(options)}; register a factory with "
            f"register_{kind}_service, which gets them."
        )

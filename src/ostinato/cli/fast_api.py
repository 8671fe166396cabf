"""The server as an ASGI app, for programs that serve it themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from .._optional import need
from ..agents.llm_agent import LlmAgent
from ..errors import InputValidationError
from ..hosting.places import HOME, make_folder, places_of
from ..hosting.setup_error import SetupError
from ..hosting.store_address import MEMORY
from ..server.settings import ServerSettings
from .utils.base_agent_loader import BaseAgentLoader

_REMEDIES = {
    "eval_storage_uri": "Evaluation over HTTP is not built; leave it out.",
    "task_store_uri": "A2A's tasks are kept in the sessions; leave it out.",
    "trace_to_cloud": "Export over OTLP with OTEL_EXPORTER_OTLP_ENDPOINT instead.",
    "otel_to_cloud": "Export over OTLP with OTEL_EXPORTER_OTLP_ENDPOINT instead.",
    "logo_text": "The page shows no logo; leave it out.",
    "logo_image_url": "The page shows no logo; leave it out.",
    "trigger_sources": "Add a route of your own that calls Runner.run_async.",
    "gemini_enterprise_app_name": "Gemini Enterprise is not reached; leave it out.",
    "express_mode": "Vertex AI's express mode is not used; leave it out.",
}
_PARAMETERS = {
    "--allow-origin": "allow_origins",
    "--artifacts": "artifact_service_uri",
    "--db": "session_service_uri",
    "--memory": "memory_service_uri",
    "--url-prefix": "url_prefix",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppOptions:
    """What `get_fast_api_app` takes.

    Attributes:
      agents_dir: the folder of the agents; its `services.yaml` and `services.py` are loaded.
      agent_loader: finds the agents instead of that folder.
      session_service_uri: where sessions are kept; None for a SQLite file in
        `agents_dir/.ostinato`, or for memory without `use_local_storage`.
      session_db_kwargs: keyword arguments for the database's engine, or for the factory of a
        registered scheme.
      artifact_service_uri: where files are kept; None for `agents_dir/.ostinato`, or memory.
      memory_service_uri: where long-term memories are kept; None for memory.
      use_local_storage: keep what no URI names, and the spans, in `agents_dir/.ostinato`.
      allow_origins: origins of pages that may call from elsewhere; `*` for any.
      web: serve the page, and show the texts of all errors, to the agents' developer.
      a2a: serve the agents over A2A; needs the extra `a2a`.
      host: the address at which the program serves the app; only checked, as the addresses in
        A2A's cards are those of the request.
      port: the port at which the program serves the app; only checked, see `host`.
      url_prefix: the path under which a proxy serves the app; answered with and without it.
      reload_agents: load an agent again when its files change.
      lifespan: what the program does between start and end.
      extra_plugins: plugins for every agent, by dotted name of a class or an instance.
      auto_create_session: a message to a session that does not exist creates it.
      default_llm_model: model of agents without one, in this process.
      eval_storage_uri, task_store_uri, trace_to_cloud, otel_to_cloud, logo_text, logo_image_url,
        trigger_sources, gemini_enterprise_app_name, express_mode: refused.
    """

    agents_dir: str | Path
    agent_loader: BaseAgentLoader | None
    session_service_uri: str | None
    session_db_kwargs: Mapping[str, Any] | None
    artifact_service_uri: str | None
    memory_service_uri: str | None
    use_local_storage: bool
    eval_storage_uri: str | None
    allow_origins: Sequence[str] | None
    web: bool
    a2a: bool
    task_store_uri: str | None
    host: str
    port: int
    url_prefix: str | None
    trace_to_cloud: bool
    otel_to_cloud: bool
    reload_agents: bool
    lifespan: Callable[[Any], AbstractAsyncContextManager[Any]] | None
    extra_plugins: Sequence[str] | None
    logo_text: str | None
    logo_image_url: str | None
    auto_create_session: bool
    trigger_sources: Sequence[str] | None
    default_llm_model: str | None
    gemini_enterprise_app_name: str | None
    express_mode: bool

    def check(self) -> None:
        """Refuse wrong and unsupported options.

        Raises:
          NotImplementedError: an option is given that would have no effect.
          ValueError: an option is wrong.
          MissingExtraError: a package that an option needs is not installed.
        """
        for name, remedy in _REMEDIES.items():
            if getattr(self, name):
                raise NotImplementedError(f"get_fast_api_app does not support {name}. {remedy}")
        if not self.host:
            raise InputValidationError("host is empty; name an address, such as 127.0.0.1.")
        if self.url_prefix and not self.url_prefix.startswith("/"):
            raise InputValidationError(f"url_prefix begins with a slash, unlike {self.url_prefix}.")
        need("starlette", extra="server")
        if self.a2a:
            need("a2a", extra="a2a")
        page = import_module("ostinato.server.page")
        if self.web and not page.is_built():
            raise InputValidationError(page.HOW_TO_BUILD)

    def to_settings(self) -> ServerSettings:
        """Return the server's settings; make the folder of what is kept locally.

        Raises:
          SetupError: the folder cannot be made.
        """
        local = places_of(str(Path(self.agents_dir) / HOME / "sessions.db"))
        db, artifacts, traces = self.session_service_uri, self.artifact_service_uri, "off"
        if self.use_local_storage:
            db, artifacts = db or str(local.db), artifacts or str(local.artifacts)
            traces = str(local.traces)
        db, artifacts = db or MEMORY, artifacts or MEMORY
        if db.startswith(MEMORY):
            traces = None
        if {str(local.db), str(local.artifacts), str(local.traces)} & {db, artifacts, traces}:
            make_folder(local)
        return ServerSettings(
            agents=Path(self.agents_dir),
            db=db,
            artifacts=artifacts,
            traces=traces,
            db_options=self.session_db_kwargs,
            memory=self.memory_service_uri or MEMORY,
            port=self.port,
            allow_origins=tuple(self.allow_origins or ()),
            allow_hosts=("*",),
            reload=self.reload_agents,
            developer=self.web,
            contents=self.web,
            page=self.web,
            a2a=self.a2a,
            auto_create_session=self.auto_create_session,
            plugins=tuple(self.extra_plugins or ()),
        )


def get_fast_api_app(
    *,
    agents_dir: str | Path,
    agent_loader: BaseAgentLoader | None = None,
    session_service_uri: str | None = None,
    session_db_kwargs: Mapping[str, Any] | None = None,
    artifact_service_uri: str | None = None,
    memory_service_uri: str | None = None,
    use_local_storage: bool = True,
    eval_storage_uri: str | None = None,
    allow_origins: Sequence[str] | None = None,
    web: bool,
    a2a: bool = False,
    task_store_uri: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    url_prefix: str | None = None,
    trace_to_cloud: bool = False,
    otel_to_cloud: bool = False,
    reload_agents: bool = False,
    lifespan: Callable[[Any], AbstractAsyncContextManager[Any]] | None = None,
    extra_plugins: Sequence[str] | None = None,
    logo_text: str | None = None,
    logo_image_url: str | None = None,
    auto_create_session: bool = False,
    trigger_sources: Sequence[str] | None = None,
    default_llm_model: str | None = None,
    gemini_enterprise_app_name: str | None = None,
    express_mode: bool = False,
) -> Any:
    """Return an app that serves the agents of a folder; AppOptions describes the parameters.

    It is a `fastapi.FastAPI` if fastapi is installed, else a Starlette app whose FastAPI methods
    raise an error that says so. It asks for no token and answers under any host name: the program
    that serves it decides who reaches it. `app.state.host` holds what it works with.

    Raises:
      ValueError: a parameter is wrong; the message names it.
      NotImplementedError: a parameter is given that would have no effect.
      MissingExtraError: what a parameter needs is not installed.
    """
    return _make_app(AppOptions(**locals()))


def _make_app(options: AppOptions) -> Any:
    options.check()
    make = import_module("ostinato.server.embedded").make_embedded_app
    root_path = (options.url_prefix or "").rstrip("/")
    try:
        app = make(options.to_settings(), root_path, options.agent_loader, options.lifespan)
    except SetupError as error:
        raise InputValidationError(_in_parameters(error.message)) from error
    if options.default_llm_model is not None:
        LlmAgent.set_default_model(options.default_llm_model)
    return app


def _in_parameters(message: str) -> str:
    """Return a message that names parameters instead of command-line options."""
    for option, parameter in _PARAMETERS.items():
        message = message.replace(option, parameter)
    return message

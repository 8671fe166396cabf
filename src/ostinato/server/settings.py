"""ServerSettings: all settings of a server."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..hosting.log_setup import LogFormat
from ..hosting.places import DEFAULT_DB


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a server; the command line fills them in.

    Attributes:
      agents: the folder whose sub-folders are apps, or the folder of one app.
      db: SQLite file or database URL of the sessions; `memory://` keeps them in this process.
      db_options: keyword arguments for the engine of the sessions' database server, or for the
        factory of a registered scheme.
      artifacts: folder, `gs://bucket` or `memory://`; None for the folder beside the sessions.
      memory: SQLite file of the memories, or `memory://`; None for the file beside the sessions.
      traces: SQLite file of the spans, or `off`; None for the file beside the sessions.
      host: address to bind.
      port: port to bind; 0 for a free one.
      url_prefix: path prefix of all routes, such as `/agents`.
      token: the token that clients send as `Authorization: Bearer ...`, or several while they are
        rotated; None requires no token.
      allow_origins: origins of other pages that may call the server; `*` for any.
      allow_hosts: host names of allowed requests, besides those of the address.
      reload: reload an app when its files change, and return the reason if that fails.
      workers: number of processes.
      grace: seconds that runs in progress have after SIGTERM.
      drain_delay: seconds after SIGTERM in which requests are still accepted while
        `/health/ready` answers 503; the grace time begins afterwards.
      lease_seconds: seconds after which other processes resume the runs of a dead process.
      max_body: bytes of a request's body.
      max_upload: bytes of a body that may contain files: messages and artifacts.
      max_parts: messages and parts of messages in one request.
      request_timeout: seconds that a request may take, except runs and streams.
      heartbeat: seconds of silence on a stream after which a comment is sent.
      write_timeout: seconds without progress after which a stream's reader, or a live run that
        reads its client's frames, is given up.
      live_backlog: queued frames of a live client; further frames are not read.
      rate_limit: requests per minute and client address; None for no limit.
      trusted_proxies: addresses and networks of proxies whose X-Forwarded-For and
        X-Forwarded-Proto are trusted.
      max_connections: open connections of one process; further ones get a 503.
      header_timeout: seconds within which a connection has to send the head of a request.
      keep_alive: seconds after a response within which a connection may send the next request.
      allow_app_state: clients may write `app:` state, which applies to all users of an app.
      developer: the clients are the agents' developers and see the texts of all errors.
      log_level: level of the log.
      log_format: `text` for people, `json` for one JSON object per line.
      access_log: write a line for each request.
      metrics: serve `/metrics` for Prometheus.
      metrics_folder: folder in which the processes of one server share their metrics; the server
        sets it.
      contents: store prompts, responses, arguments and results with the spans, for the page.
      page: serve the web page of this package.
      allow_code_from: modules whose code YAML agents may use, besides their own folder's.
      policy: file of rules about the tool calls of all apps, beside their own.
      ui: folder of another built page, served below `/dev-ui/`.
      a2a: serve the agents to others over A2A.
      auto_create_session: a message to a session that does not exist creates it.
      plugins: plugins for every app, by dotted name of their class or of an instance.
      stand_in: use a small rule-based model for models that are not available; the page says so.
    """

    agents: Path
    db: str = field(default=DEFAULT_DB, repr=False)  # it may hold a password
    db_options: Mapping[str, Any] | None = field(default=None, repr=False)
    artifacts: str | None = None
    memory: str | None = None
    traces: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    url_prefix: str = ""
    token: str | tuple[str, ...] | None = field(default=None, repr=False)
    allow_origins: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    reload: bool = False
    workers: int = 1
    grace: float = 30.0
    drain_delay: float = 0.0
    lease_seconds: float = 10.0
    max_body: int = 4 * 1024 * 1024
    max_upload: int = 32 * 1024 * 1024
    max_parts: int = 10_000
    request_timeout: float = 60.0
    heartbeat: float = 15.0
    write_timeout: float = 60.0
    live_backlog: int = 64
    rate_limit: int | None = None
    trusted_proxies: tuple[str, ...] = ()
    max_connections: int = 2000
    header_timeout: float = 15.0
    keep_alive: float = 5.0
    allow_app_state: bool = False
    developer: bool = False
    log_level: str = "info"
    log_format: LogFormat = "text"
    access_log: bool = False
    metrics: bool = False
    metrics_folder: Path | None = None
    contents: bool = False
    page: bool = False
    policy: Path | None = None
    ui: Path | None = None
    allow_code_from: tuple[str, ...] = ()
    a2a: bool = True
    auto_create_session: bool = False
    plugins: tuple[str, ...] = ()
    stand_in: bool = False

    def __post_init__(self) -> None:
        # A path is often given as text. `check_settings` refuses other types.
        for name in ("agents", "policy", "ui"):
            value: object = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, Path(value))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of which a client has to send one; empty if none is required."""
        if self.token is None:
            return ()
        return (self.token,) if isinstance(self.token, str) else tuple(self.token)

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

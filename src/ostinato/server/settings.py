"""ServerSettings: everything that can be set about a server. The command line fills it in."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from ..hosting.places import DEFAULT_DB

MEMORY = "memory://"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What a server serves, to whom, and within which limits.

    Attributes:
      agents: the folder whose sub-folders are apps, or the folder of one app.
      db: SQLite file or database URL of the sessions; `memory://` keeps them in this process.
      artifacts: folder, `gs://bucket` or `memory://`; None for beside the sessions.
      memory: SQLite file of the long-term memories, or `memory://`; None for beside the sessions.
      host: address to bind.
      port: port to bind; 0 for a free one.
      url_prefix: path below which everything is served, such as `/agents`.
      token: what clients have to send as `Authorization: Bearer ...`; None asks for nothing.
      allow_origins: origins of pages that may call from elsewhere; `*` for any.
      allow_hosts: names under which the server may be called, besides those of its address.
      reload: load an app again when its files change, and tell what is wrong with it.
      workers: processes.
      grace: seconds that running invocations have after SIGTERM.
      lease_seconds: seconds after which others go on with what a dead process ran.
      max_body: bytes of a request's body.
      max_upload: bytes of the body where files may be sent: messages and artifacts.
      request_timeout: seconds a request may take, runs and streams left out.
      heartbeat: seconds of silence on a stream after which a comment is sent.
      write_timeout: seconds that a reader may take none of a stream, and that a live run may take
        none of what its client sends.
      live_backlog: frames of a client that may wait for a live run; further ones are not read.
      rate_limit: requests per minute and client address; None for any number.
      log_level: level of the log.
      contents: keep prompts, responses, arguments and results with the spans, for the page.
      page: serve the page that this package holds.
      allow_code_from: modules whose code agents in YAML may name, besides their own folder's.
      ui: folder of another built page to serve below `/dev-ui/`.
    """

    agents: Path
    db: str = DEFAULT_DB
    artifacts: str | None = None
    memory: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    url_prefix: str = ""
    token: str | None = None
    allow_origins: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    reload: bool = False
    workers: int = 1
    grace: float = 30.0
    lease_seconds: float = 10.0
    max_body: int = 4 * 1024 * 1024
    max_upload: int = 32 * 1024 * 1024
    request_timeout: float = 60.0
    heartbeat: float = 15.0
    write_timeout: float = 60.0
    live_backlog: int = 64
    rate_limit: int | None = None
    log_level: str = "info"
    contents: bool = False
    page: bool = False
    ui: Path | None = None
    allow_code_from: tuple[str, ...] = ()

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

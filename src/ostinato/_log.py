"""Loggers whose records say which run and which request they were written in.

Every module of Ostinato that logs calls `get_logger`. Programs put `InvocationIdFilter` on their
handlers to see the ids on records of their own tools and callbacks too.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

UNKNOWN = "-"


class RunMark(Protocol):
    """A run that the current code is part of; `durable.run_scope.RunScope` is one."""

    @property
    def invocation_id(self) -> str: ...

    @property
    def place(self) -> tuple[str, str, str]:
        """App, user and session."""
        ...


class RunLabel(NamedTuple):
    """A session or an invocation that the current code works on, without being part of its run.

    Attributes:
      place: app, user and session.
      invocation_id: the invocation, or `-` if it is unknown.
    """

    place: tuple[str, str, str]
    invocation_id: str = UNKNOWN


CURRENT: ContextVar[RunMark | None] = ContextVar("ostinato_run", default=None)

#: The id of the request that the current code answers.
CURRENT_REQUEST: ContextVar[str] = ContextVar("ostinato_request", default=UNKNOWN)


def current_invocation_id() -> str:
    """Return the id of the invocation that the current code is part of; `-` outside of any."""
    run = CURRENT.get()
    return UNKNOWN if run is None else run.invocation_id


class _Logger(logging.LoggerAdapter[logging.Logger]):
    """Adds `invocation_id` to each record.

    Args:
      module: the module's name, or another under `ostinato`.
    """

    def __init__(self, module: str) -> None:
        super().__init__(logging.getLogger(_name_logger(module)), {})
        self.module = module

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(kwargs.get("extra") or {}), "invocation_id": current_invocation_id()}
        return msg, kwargs


def get_logger(name: str) -> logging.LoggerAdapter[logging.Logger]:
    """Return the logger of a module; its records have the attribute `invocation_id`."""
    made = _Logger(name)
    _loggers.add(made)
    return made


_loggers: weakref.WeakSet[_Logger] = weakref.WeakSet()
_PACKAGE = __name__.partition(".")[0]
_ADK_ROOT, _ADK_PACKAGE = "google_adk", "google_adk.google.adk"


_naming = {"follows_adk": False}


def _name_logger(module: str) -> str:
    return module.replace(_PACKAGE, _ADK_PACKAGE, 1) if _naming["follows_adk"] else module


def rename_loggers(follows_adk: bool) -> None:
    """Give Ostinato's loggers google-adk's names, or their own.

    Records under google-adk's names pass the logger `ostinato` too, so that settings of both count.
    """
    _naming["follows_adk"] = follows_adk
    ours, adk = logging.getLogger(_PACKAGE), logging.getLogger(_ADK_ROOT)
    ours.parent = adk if follows_adk else logging.root
    logging.getLogger(_ADK_PACKAGE).parent = ours if follows_adk else adk
    adk.setLevel(adk.level)  # drops what loggers remember of the levels above them
    for one in list(_loggers):
        one.logger = logging.getLogger(_name_logger(one.module))


class InvocationIdFilter(logging.Filter):
    """Gives every record `invocation_id`, `app_name`, `user_id`, `session_id` and `request_id`.

    Each is `-` if the record was written outside of an invocation, or of a request.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the ids and let the record through."""
        run = CURRENT.get()
        app, user, session = (UNKNOWN, UNKNOWN, UNKNOWN) if run is None else run.place
        found = {
            "invocation_id": UNKNOWN if run is None else run.invocation_id,
            "app_name": app,
            "user_id": user,
            "session_id": session,
            "request_id": CURRENT_REQUEST.get(),
        }
        for name, value in found.items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


_QUIET_SECONDS = 10.0  # between two lines about the same failure of a store


class OutageLog:
    """Logs one line when a store stops answering and one when it answers again.

    Its methods may be called from any thread.

    Attributes:
      failures: how many failures were counted since the process began.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = 0.0
        self._count = 0
        self._reason = ""
        self._logged_at = 0.0
        self._is_logged = False
        self.failures = 0

    def note_failure(self, error: Exception) -> None:
        """Count a failure; log it if it begins an outage or has another reason than the last.

        A store that fails and answers in turns is logged every ten seconds at most.
        """
        with self._lock:
            now = time.monotonic()
            if not self._count:
                self._began = now
            elapsed = now - self._logged_at
            known = self._reason == str(error) and (self._count > 0 or elapsed < _QUIET_SECONDS)
            self._count += 1
            self.failures += 1
            self._reason = str(error)
            if not known:
                self._logged_at, self._is_logged = now, True
        if not known:
            _logger.error("%s Failures of this kind are not logged until it answers again.", error)

    def note_answer(self) -> None:
        """End the outage, if there is one."""
        if not self._count:
            return
        with self._lock:
            count, self._count = self._count, 0
            is_logged, self._is_logged = self._is_logged, False
            seconds = time.monotonic() - self._began
        if count and is_logged:
            _logger.info(
                "The store answers again after %.0f s; %d operation(s) failed.", seconds, count
            )


_logger = get_logger("ostinato.store")
_outages: weakref.WeakKeyDictionary[object, OutageLog] = weakref.WeakKeyDictionary()
_outages_lock = threading.Lock()


def outage_log_of(store: object) -> OutageLog:
    """Return the log of a store's outages, one for all that use the store in this process."""
    with _outages_lock:
        return _outages.setdefault(store, OutageLog())

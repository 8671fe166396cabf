"""Loggers whose records carry the id of the invocation they were written in.

Every module of ours that logs calls `get_logger`. Programs put `InvocationIdFilter` on their
handlers to see the id on records of their own tools and callbacks too.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any, Protocol


class RunMark(Protocol):
    """A run that the current code is part of; `durable.running.inside` is one."""

    @property
    def invocation_id(self) -> str: ...


CURRENT: ContextVar[RunMark | None] = ContextVar("ostinato_run", default=None)


def current_invocation_id() -> str:
    """Return the id of the invocation that the current code is part of; `-` outside of any."""
    run = CURRENT.get()
    return "-" if run is None else run.invocation_id


class _Logger(logging.LoggerAdapter[logging.Logger]):
    """Adds `invocation_id` to each record."""

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(kwargs.get("extra") or {}), "invocation_id": current_invocation_id()}
        return msg, kwargs


def get_logger(name: str) -> logging.LoggerAdapter[logging.Logger]:
    """Return the logger of a module; its records have the attribute `invocation_id`."""
    return _Logger(logging.getLogger(name), {})


class InvocationIdFilter(logging.Filter):
    """Gives every record the attribute `invocation_id`; `-` outside of invocations."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the id and let the record through."""
        if not hasattr(record, "invocation_id"):
            record.invocation_id = current_invocation_id()
        return True

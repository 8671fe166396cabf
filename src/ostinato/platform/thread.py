"""The source of threads for programs that make their own."""

import threading
from collections.abc import Callable
from typing import Any

from .._absences import refuse_absent

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


def create_thread(target: Callable[..., None], *args: Any, **kwargs: Any) -> threading.Thread:
    """Return a thread that has yet to be started.

    Args:
      target: what it runs.
      *args: positional arguments of `target`.
      **kwargs: its arguments by name.
    """
    return threading.Thread(target=target, args=args, kwargs=kwargs)

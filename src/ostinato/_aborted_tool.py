"""Tools that end the program or cancel themselves: such an exit is an error of the tool.

The message holds no text of the tool's exception: clients see it. The cause has the text.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from .errors import ToolAbortedError

ABORTS = (SystemExit, asyncio.CancelledError, GeneratorExit, BaseExceptionGroup)
"""What `as_tool_error` turns into an error, or raises again."""


def as_tool_error(abort: BaseException, what: str) -> ToolAbortedError:
    """Return the error that stands for an exit of a tool's own.

    Args:
      abort: what the tool raised, one of `ABORTS`.
      what: the tool, for the message, such as "Tool 'search'".

    Raises:
      CancelledError: `abort`, if the current task is really being cancelled.
      GeneratorExit: `abort`, if the caller itself is being closed.
      BaseExceptionGroup: `abort`, if it holds only ordinary exceptions, or one that ends the
        program, such as KeyboardInterrupt.
    """
    task = asyncio.current_task()
    if isinstance(abort, SystemExit):
        code = abort.code if isinstance(abort.code, int) else ""
        text = (
            f"{what} ended with SystemExit({code}), as sys.exit() and argparse raise it; "
            "the program continues. Raise an exception with a message, or return an error, instead."
        )
    elif isinstance(abort, GeneratorExit):
        if _is_closing(abort):
            raise abort
        text = (
            f"{what} raised GeneratorExit, which only the closing of a generator raises. Raise an "
            "exception with a message, or return an error, instead."
        )
    elif isinstance(abort, BaseExceptionGroup):
        cancelled = task is not None and task.cancelling()
        group = cast("BaseExceptionGroup[Any]", abort)
        if cancelled or isinstance(group, ExceptionGroup) or _ends_program(group):
            raise abort
        members = ", ".join(dict.fromkeys(type(one).__name__ for one in group.exceptions))
        text = (
            f"{what} raised {type(group).__name__} of {members}, as a TaskGroup raises it; the "
            "program continues. Catch it in the tool."
        )
    else:
        if task is None or task.cancelling():
            raise abort
        text = (
            f"{what} raised CancelledError although its task was not cancelled; it may "
            "have waited for a task or future that was cancelled. Catch it in the tool."
        )
    error = ToolAbortedError(text)
    error.__cause__ = abort
    return error


def as_code_error(raised: BaseException, what: str) -> Exception:
    """Return the error that stands for whatever code of the user's raised.

    Args:
      raised: what the code raised.
      what: the code, for the message, such as "The metric 'polite'".

    Raises:
      KeyboardInterrupt: `raised`.
      BaseException: `raised`, if `as_tool_error` raises it.
    """
    if isinstance(raised, Exception):
        return raised
    if isinstance(raised, KeyboardInterrupt):
        raise raised
    if isinstance(raised, ABORTS):
        return as_tool_error(cast(BaseException, raised), what)
    error = ToolAbortedError(
        f"{what} raised {type(raised).__name__}, which is not an Exception: {raised}"
    )
    error.__cause__ = raised
    return error


def _is_closing(abort: GeneratorExit) -> bool:
    """Return whether the frame that caught it is being closed; else a frame below raised it."""
    trace = abort.__traceback__
    return trace is None or trace.tb_next is None


def _ends_program(group: BaseExceptionGroup[Any]) -> bool:
    """Return whether a group holds more than exits of a tool's own and ordinary exceptions."""
    _, others = group.split((Exception, SystemExit, asyncio.CancelledError, GeneratorExit))
    return others is not None

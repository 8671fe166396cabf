"""Commands whose exit code is a verdict, which the user's code cannot replace by success."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import NoReturn

from .cli_error import FAILED, CliError

JUDGING = frozenset(
    {"conformance", "diff", "eval", "optimize", "policy", "prove", "replay", "test"}
)
"""The commands that CI believes."""


@contextmanager
def refuse_exits(command: str) -> Generator[None]:
    """Let an exit of the user's code end a command with 1, whatever exit code it names.

    `os._exit` is replaced: it would end the process without a verdict. An exit from C code, and a
    process that replaces itself, are not seen.

    Args:
      command: the command.

    Raises:
      CliError: SystemExit came out of the block.
    """
    end, owner = os._exit, os.getpid()

    def end_with_failure(status: int) -> NoReturn:
        if os.getpid() != owner:  # a forked process ends as it wants
            end(status)
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        place = f" ({caller.f_globals.get('__name__')}, line {caller.f_lineno})" if caller else ""
        with suppress(Exception):  # boundary: whatever happens, the process ends with 1
            sys.stdout.flush()
        with suppress(Exception):  # boundary: the same
            problem = _describe(command, f"os._exit({status})", place)
            print(f"error: {problem}", file=sys.stderr, flush=True)
        end(FAILED)

    os._exit = end_with_failure
    try:
        yield
    except SystemExit as abort:
        raise CliError(_describe(command, f"SystemExit({abort.code!r})")) from abort
    finally:
        os._exit = end


def _describe(command: str, call: str, place: str = "") -> str:
    return (
        f"The agent's code, or a tool or metric, ended the process with {call}{place} before "
        f"`ostinato {command}` had a verdict."
    )

"""The entry point of the command `ostinato`: read the arguments, run the command, tell its errors.

Each command's module is imported when the command is used, so that none pays for another's
libraries.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from time import perf_counter

from ..errors import OstinatoError
from ..hosting.failure import SetupError
from .failure import FAILED, INTERRUPTED, USAGE, CliError
from .parser import parse

_HOMES = {
    "run": "ostinato.cli.run",
    "create": "ostinato.cli.create",
    "sessions": "ostinato.cli.sessions",
    "migrate": "ostinato.cli.migrate",
    "doctor": "ostinato.cli.doctor",
    "models": "ostinato.cli.models",
    "worker": "ostinato.cli.worker",
    "trace": "ostinato.cli.trace",
    "graph": "ostinato.cli.graph",
    "serve": "ostinato.cli.serve",
    "web": "ostinato.cli.serve",
    "mcp": "ostinato.cli.mcp",
    "generate": "ostinato.cli.generate",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
      argv: the arguments without the program's name; those of the process where None.

    Returns:
      The exit code: 0 where all went well, 1 after an error, 2 for wrong usage, 130 after Ctrl-C.
    """
    began = perf_counter()
    args = parse(argv)
    args.began = began
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Models say what the terminal's encoding may not have; that must not end a run.
            stream.reconfigure(errors="replace")
    try:
        return import_module(_HOMES[args.command]).main(args)
    except CliError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.code
    except SetupError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return USAGE if error.missing else FAILED
    except OstinatoError as error:
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, such as `head`; what is still buffered has no place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED

"""Entry point of the command `ostinato`: parses arguments, runs a command, prints its errors.

A command's module is imported only when that command runs, so that no command pays for another's
libraries.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from io import TextIOWrapper
from time import perf_counter

from ..errors import OstinatoError
from ..hosting.setup_error import SetupError
from ..hosting.store_address import mask_secrets
from .cli_error import FAILED, INTERRUPTED, UNREAD, USAGE, CliError
from .parser import parse_arguments
from .process_exits import JUDGING, refuse_exits

_HOMES = {
    "run": "ostinato.cli.run",
    "approvals": "ostinato.cli.approvals_command",
    "create": "ostinato.cli.create",
    "deploy": "ostinato.cli.deploy",
    "completion": "ostinato.cli.completion",
    "sessions": "ostinato.cli.sessions",
    "migrate": "ostinato.cli.migrate",
    "doctor": "ostinato.cli.doctor",
    "docs": "ostinato.cli.docs",
    "models": "ostinato.cli.models",
    "worker": "ostinato.cli.worker",
    "trace": "ostinato.cli.trace",
    "graph": "ostinato.cli.graph_command",
    "serve": "ostinato.cli.serve",
    "web": "ostinato.cli.serve",
    "mcp": "ostinato.cli.serve",
    "mcp list": "ostinato.cli.mcp_client",
    "openapi": "ostinato.cli.openapi",
    "erase": "ostinato.cli.erase",
    "effects": "ostinato.cli.effects_command",
    "prove": "ostinato.cli.prove_command",
    "generate": "ostinato.cli.generate",
    "policy": "ostinato.cli.policy_command",
    "eval": "ostinato.cli.evaluate",
    "eval_set": "ostinato.cli.eval_sets",
    "replay": "ostinato.cli.replay",
    "diff": "ostinato.cli.diff",
    "test": "ostinato.cli.session_tests",
    "conformance": "ostinato.cli.conformance",
    "optimize": "ostinato.cli.optimize",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
      argv: the arguments without the program's name; those of the process if None.

    Returns:
      The exit code: 0 for success, 1 after an error, 2 for wrong usage, 3 if the call was already
      answered, 130 after Ctrl-C, 141 if the reader of the output exited.
    """
    began = perf_counter()
    args = parse_arguments(argv)
    args.began = began
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A character that the terminal cannot encode must not end a run.
            stream.reconfigure(errors="replace")
    try:
        with refuse_exits(args.command) if args.command in JUDGING else nullcontext():
            code: int = import_module(_HOMES[args.command]).main(args)
            print(end="", flush=True)  # here a reader that has exited is noticed
            return code
    except CliError as error:
        _print_error(error.message)
        return error.code
    except SetupError as error:
        _print_error(error.message)
        return USAGE if error.missing else FAILED
    except OstinatoError as error:
        _print_error(f"{type(error).__name__}: {error}".replace("db_url", "--db"))
        print(f"Explained by: {error.help_command}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has exited; discard the buffered output.
        with suppress(OSError, ValueError):  # it has no file descriptor, as in tests
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD


def _print_error(problem: str) -> None:
    print(f"error: {mask_secrets(problem)}", file=sys.stderr)

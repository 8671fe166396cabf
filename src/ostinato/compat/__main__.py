"""`python -m ostinato.compat program.py [ARG ...]` runs a google-adk program unchanged, and every
Python process that it starts; `-m package.module` instead of the file works too."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from .alias import child_path, install
from .missing import explain

_USAGE = "usage: python -m ostinato.compat (PROGRAM.py | -m MODULE) [ARG ...]"


def main(arguments: list[str]) -> None:
    """Run the program that the arguments name, as Python itself would."""
    by_name = arguments[:1] == ["-m"]
    if arguments[:1] in (["-h"], ["--help"]):
        print(_USAGE)
        return
    if len(arguments) < 1 + by_name:
        sys.exit(_USAGE)
    install(force=True)
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*child_path(), *([inherited] if inherited else [])])
    sys.argv = arguments[by_name:]
    if not by_name and not Path(sys.argv[0]).exists():
        sys.exit(f"{_USAGE}\nThere is no file {sys.argv[0]}.")
    try:
        _run_program(sys.argv[0], by_name)
    except ImportError as error:
        advice = explain(error)
        if advice is not None and advice != str(error):
            error.add_note(advice)
        raise


def _run_program(program: str, by_name: bool) -> None:
    if by_name:
        sys.path[0] = str(Path.cwd())
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(program).resolve().parent)
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])

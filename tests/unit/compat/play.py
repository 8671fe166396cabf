"""Runs the programs and prints what they print, as JSON; in whichever interpreter it is given.

    python tests/unit/compat/play.py [--alias [--force]] [--record] [NAME ...]

With --alias `google.adk` is Ostinato, else the google-adk that is installed, whose traces --record
keeps beside the programs.
"""

import contextlib
import io
import json
import logging
import runpy
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
TRACES = HERE / "traces"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "printing")


def play(name: str) -> str:
    """What one program prints, or how it ended."""
    sys.modules.pop("printing", None)  # it counts ids from the program's start
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name="__main__")
        except Exception as error:
            print(f"ended by {type(error).__name__}: {error}")
            if "--raise" in sys.argv:
                raise
    return out.getvalue()


def main() -> None:
    options = {word for word in sys.argv[1:] if word.startswith("--")}
    names = [word for word in sys.argv[1:] if not word.startswith("--")] or NAMES
    sys.path.insert(0, str(PROGRAMS))
    if "--alias" in options:
        import ostinato.compat

        ostinato.compat.install(force="--force" in options)
    else:
        warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    printed = {name: play(name) for name in names}
    if "--record" in options:
        for name, text in printed.items():
            (TRACES / f"{name}.txt").write_text(text, encoding="utf-8")
    print(json.dumps(printed))


if __name__ == "__main__":
    main()

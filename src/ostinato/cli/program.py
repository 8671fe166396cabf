"""The command that runs this program, for texts that show what to type next."""

from __future__ import annotations

import os
import shutil
import sys


def program_command() -> str:
    """Return the command that runs this program again from here."""
    name = sys.argv[0]
    if os.path.basename(name) in ("__main__.py", "-m", "-c", ""):
        return "python -m ostinato"
    found = shutil.which("ostinato")
    if found is not None and os.path.realpath(found) == os.path.realpath(name):
        return "ostinato"
    if os.path.basename(name) != "ostinato":
        return "ostinato"  # inside another program, such as a test
    return os.path.relpath(name)

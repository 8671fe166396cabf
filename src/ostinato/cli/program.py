"""How a person calls this program, to be told so. Called by the commands."""

from __future__ import annotations

import os
import shutil
import sys


def program() -> str:
    """Return what to type to run this program again, here and now."""
    name = sys.argv[0]
    if os.path.basename(name) in ("__main__.py", "-m", "-c", ""):
        return "python -m ostinato"
    found = shutil.which("ostinato")
    if found is not None and os.path.realpath(found) == os.path.realpath(name):
        return "ostinato"
    if os.path.basename(name) != "ostinato":
        return "ostinato"  # inside another program, such as a test
    return os.path.relpath(name)

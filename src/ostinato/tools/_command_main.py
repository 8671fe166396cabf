"""Starts a command within bounds: sets them on its own process, then becomes the command.

Run as a script by `_command.py`; it imports nothing of this package.
"""

import json
import os
import sys

if sys.platform != "win32":
    import resource


def _limit(wanted: dict[str, int]) -> None:
    """Set bounds by name; a system that lacks one goes without it."""
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    _limit(json.loads(sys.argv[1]))
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as error:
        sys.exit(f"{sys.argv[2]} could not be started: {error.strerror}.")

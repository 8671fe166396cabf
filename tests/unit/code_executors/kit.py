"""What the tests of code executors share."""

from typing import Any

NO_CONTEXT: Any = None  # of the invocation: these executors do not read it

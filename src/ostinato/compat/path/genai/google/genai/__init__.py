"""Is `google.genai` where the folder above is on a process's search path, which it is only where
google-genai is not installed: a program may import it before `google.adk`."""

import sys
from importlib import import_module

from ostinato.compat import install

install(force=True)
sys.modules[__name__] = import_module("ostinato.compat.genai")

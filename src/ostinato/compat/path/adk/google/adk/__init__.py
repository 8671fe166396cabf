"""Is `google.adk` where the folder above is on a process's search path: it installs the alias, so
that child processes need not. `python -m ostinato.compat` puts it there."""

import sys
from importlib import import_module

from ostinato.compat import install

sys.modules[__name__] = import_module("ostinato")
install(force=True)

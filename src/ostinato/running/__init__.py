"""Parts of the runner: what it sets up, chooses, commits and hands out. `runners.py` joins them."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.running.debug_run import debug_run as debug_run
    from ostinato.running.rewind import rewind_event as rewind_event
    from ostinato.running.run import Run as Run
    from ostinato.running.run import RunResult as RunResult
    from ostinato.running.run import Usage as Usage
    from ostinato.running.spawn import spawn as spawn
    from ostinato.running.sync_run import drive as drive

__getattr__, __dir__, __all__ = attach(__name__)

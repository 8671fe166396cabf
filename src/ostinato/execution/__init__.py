"""Parts of the runner: what it sets up, chooses, commits and hands out. `runners.py` joins them."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.execution.debug_run import debug_run as debug_run
    from ostinato.execution.rewind import rewind_event as rewind_event
    from ostinato.execution.run_handle import Run as Run
    from ostinato.execution.run_handle import RunResult as RunResult
    from ostinato.execution.run_handle import Usage as Usage
    from ostinato.execution.spawn import spawn as spawn
    from ostinato.execution.sync_run import drive as drive

__getattr__, __dir__, __all__ = attach(__name__)

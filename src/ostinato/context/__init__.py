"""Contexts: what a run carries, and the views of it that callbacks and tools get. A lazy face."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.context import Context as Context
    from ostinato.context.invocation import InvocationContext as InvocationContext
    from ostinato.context.readonly import ReadonlyContext as ReadonlyContext
    from ostinato.context.run_config import DEFAULT_RUN as DEFAULT_RUN
    from ostinato.context.run_config import RunConfig as RunConfig
    from ostinato.context.run_config import StreamingMode as StreamingMode

__getattr__, __dir__, __all__ = attach(__name__)

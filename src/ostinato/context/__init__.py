"""Contexts: the data of a run, and its views for callbacks and tools."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.context import Context as Context
    from ostinato.context.invocation import InvocationContext as InvocationContext
    from ostinato.context.readonly import ReadonlyContext as ReadonlyContext
    from ostinato.context.run_config import RUN_CONFIG_TEMPLATE as RUN_CONFIG_TEMPLATE
    from ostinato.context.run_config import RunConfig as RunConfig
    from ostinato.context.run_config import StreamingMode as StreamingMode

__getattr__, __dir__, __all__ = attach(__name__)

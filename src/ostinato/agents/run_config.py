"""Face: RunConfig at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.budget import Budget as Budget
    from ostinato.context.budget import Price as Price
    from ostinato.context.run_config import RunConfig as RunConfig
    from ostinato.context.run_config import StreamingMode as StreamingMode
    from ostinato.context.run_config import ToolThreadPoolConfig as ToolThreadPoolConfig

__getattr__, __dir__, __all__ = attach(__name__)

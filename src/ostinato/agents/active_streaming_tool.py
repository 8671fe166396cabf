"""Face: ActiveStreamingTool at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.live_records import ActiveStreamingTool as ActiveStreamingTool

__getattr__, __dir__, __all__ = attach(__name__)

"""Face: FinishTaskTool at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.finish_task_tool import FinishTaskTool as FinishTaskTool

__getattr__, __dir__, __all__ = attach(__name__)

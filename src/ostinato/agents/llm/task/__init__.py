"""Face of the tool with which a task is finished; its home is `tools.finish_task_tool`."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.finish_task_tool import FinishTaskTool as FinishTaskTool

__getattr__, __dir__, __all__ = attach(__name__)

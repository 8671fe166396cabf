"""Face: CrewaiTool, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.crewai_tool import CrewaiTool as CrewaiTool
    from ostinato.tools.crewai_tool import CrewaiToolConfig as CrewaiToolConfig

__getattr__, __dir__, __all__ = attach(__name__)

"""Face: LangchainTool, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.langchain_tool import LangchainTool as LangchainTool
    from ostinato.tools.langchain_tool import LangchainToolConfig as LangchainToolConfig

__getattr__, __dir__, __all__ = attach(__name__)

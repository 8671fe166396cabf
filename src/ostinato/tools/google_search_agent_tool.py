"""Face: the agent that searches with Google, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.agents.google_search_agent import (
        create_google_search_agent as create_google_search_agent,
    )
    from ostinato.tools.google.searching_agent import GoogleSearchAgentTool as GoogleSearchAgentTool

__getattr__, __dir__, __all__ = attach(__name__)

"""GoogleSearchAgentTool: the names; an agent that searches for another is not built yet."""

from .._later_on import NotBuilt, not_built

_PART = "the tools of Google's search"
_INSTEAD = "wrap a search of your own in a function tool"


class GoogleSearchAgentTool(NotBuilt, part=_PART, instead=_INSTEAD):
    """An agent that only searches, as a tool, so that other tools can stand beside the search."""


create_google_search_agent = not_built("create_google_search_agent", part=_PART, instead=_INSTEAD)

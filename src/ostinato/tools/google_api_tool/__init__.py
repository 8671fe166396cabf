"""Toolsets of Google's APIs, made of their discovery documents."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.google_api_tool.google_api_tool import GoogleApiTool as GoogleApiTool
    from ostinato.tools.google_api_tool.google_api_toolset import (
        GoogleApiToolset as GoogleApiToolset,
    )
    from ostinato.tools.google_api_tool.google_api_toolsets import (
        BigQueryToolset as BigQueryToolset,
    )
    from ostinato.tools.google_api_tool.google_api_toolsets import (
        CalendarToolset as CalendarToolset,
    )
    from ostinato.tools.google_api_tool.google_api_toolsets import DocsToolset as DocsToolset
    from ostinato.tools.google_api_tool.google_api_toolsets import GmailToolset as GmailToolset
    from ostinato.tools.google_api_tool.google_api_toolsets import SheetsToolset as SheetsToolset
    from ostinato.tools.google_api_tool.google_api_toolsets import SlidesToolset as SlidesToolset
    from ostinato.tools.google_api_tool.google_api_toolsets import YoutubeToolset as YoutubeToolset

__getattr__, __dir__, __all__ = attach(__name__)

"""Face of tools.bigquery.search_tool, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.bigquery.search_tool import search_catalog as search_catalog

__getattr__, __dir__, __all__ = attach(__name__)

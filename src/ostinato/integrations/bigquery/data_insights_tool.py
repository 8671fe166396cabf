"""Face of tools.bigquery.data_insights_tool, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.bigquery.data_insights_tool import ask_data_insights as ask_data_insights

__getattr__, __dir__, __all__ = attach(__name__)

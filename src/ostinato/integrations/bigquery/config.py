"""Face of tools.bigquery.config, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.bigquery.config import BigQueryToolConfig as BigQueryToolConfig
    from ostinato.tools.bigquery.config import WriteMode as WriteMode

__getattr__, __dir__, __all__ = attach(__name__)

"""Face: the tools of BigQuery, at the path programs import them from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.bigquery.bigquery_credentials import (
        BigQueryCredentialsConfig as BigQueryCredentialsConfig,
    )
    from ostinato.tools.bigquery.bigquery_toolset import BigQueryToolset as BigQueryToolset

__getattr__, __dir__, __all__ = attach(__name__)

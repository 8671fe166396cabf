"""Face of tools.bigquery.bigquery_credentials, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.bigquery.bigquery_credentials import (
        BIGQUERY_DEFAULT_SCOPE as BIGQUERY_DEFAULT_SCOPE,
    )
    from ostinato.tools.bigquery.bigquery_credentials import BIGQUERY_SCOPES as BIGQUERY_SCOPES
    from ostinato.tools.bigquery.bigquery_credentials import (
        BIGQUERY_TOKEN_CACHE_KEY as BIGQUERY_TOKEN_CACHE_KEY,
    )
    from ostinato.tools.bigquery.bigquery_credentials import (
        BigQueryCredentialsConfig as BigQueryCredentialsConfig,
    )

__getattr__, __dir__, __all__ = attach(__name__)

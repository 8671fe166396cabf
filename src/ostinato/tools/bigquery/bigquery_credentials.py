"""BigQueryCredentialsConfig: where the tools of BigQuery get their credentials."""

from typing import Self

from ..._absences import refuse_absent
from ..google.credentials import BaseGoogleCredentialsConfig

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here

BIGQUERY_TOKEN_CACHE_KEY = "bigquery_token_cache"
BIGQUERY_SCOPES = [
    "https://www.googleapis.com/auth/bigquery",
    "https://www.googleapis.com/auth/dataplex.read-write",
]
BIGQUERY_DEFAULT_SCOPE = ["https://www.googleapis.com/auth/bigquery"]


class BigQueryCredentialsConfig(BaseGoogleCredentialsConfig):
    """Credentials of BigQuery's tools; see BaseGoogleCredentialsConfig.

    Without `scopes` users are asked for BigQuery and for the catalog of Dataplex.
    """

    def __post_init__(self) -> Self:
        """Check the fields, set the default scopes and the key of the users' tokens."""
        super().__post_init__()
        if not self.scopes:
            self.scopes = [*BIGQUERY_SCOPES]
        self._token_cache_key = BIGQUERY_TOKEN_CACHE_KEY
        return self

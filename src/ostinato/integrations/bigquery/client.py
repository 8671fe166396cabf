"""Face of tools.bigquery.client, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.bigquery.client import BQ_USER_AGENT as BQ_USER_AGENT
    from ostinato.tools.bigquery.client import DP_USER_AGENT as DP_USER_AGENT
    from ostinato.tools.bigquery.client import USER_AGENT as USER_AGENT
    from ostinato.tools.bigquery.client import USER_AGENT_BASE as USER_AGENT_BASE
    from ostinato.tools.bigquery.client import get_bigquery_client as get_bigquery_client

__getattr__, __dir__, __all__ = attach(__name__)

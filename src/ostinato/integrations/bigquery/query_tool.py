"""Face of tools.bigquery.query_tool, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.bigquery.query_tool import (
        BIGQUERY_SESSION_INFO_KEY as BIGQUERY_SESSION_INFO_KEY,
    )
    from ostinato.tools.bigquery.query_tool import analyze_contribution as analyze_contribution
    from ostinato.tools.bigquery.query_tool import detect_anomalies as detect_anomalies
    from ostinato.tools.bigquery.query_tool import execute_sql as execute_sql
    from ostinato.tools.bigquery.query_tool import forecast as forecast
    from ostinato.tools.bigquery.query_tool import get_execute_sql as get_execute_sql

__getattr__, __dir__, __all__ = attach(__name__)

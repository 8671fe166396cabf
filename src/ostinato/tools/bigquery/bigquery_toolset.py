"""BigQueryToolset: tools that read, query and analyze data in BigQuery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base_tool import BaseTool
from ..base_toolset import BaseToolset, ToolPredicate
from ..google_tool import GoogleTool
from .config import BigQueryToolConfig
from .data_insights_tool import ask_data_insights
from .metadata_tool import (
    get_dataset_info,
    get_job_info,
    get_table_info,
    list_dataset_ids,
    list_table_ids,
)
from .query_tool import analyze_contribution, detect_anomalies, forecast, get_execute_sql
from .search_tool import search_catalog

if TYPE_CHECKING:
    from ...context.readonly import ReadonlyContext
    from .bigquery_credentials import BigQueryCredentialsConfig


class BigQueryToolset(BaseToolset):
    """The tools of BigQuery: list_dataset_ids, get_dataset_info, list_table_ids, get_table_info,
    get_job_info, execute_sql, forecast, analyze_contribution, detect_anomalies, ask_data_insights
    and search_catalog.

    They ask BigQuery over REST and need the extra `vertex`. A query that a crash interrupted is not
    run twice: its job has an id of the call.

    Args:
      tool_filter: names of the tools to offer, or a predicate; all if None, none if an empty list.
      credentials_config: where the login comes from; the machine's own identity if None.
      bigquery_tool_config: what the tools may do; by default they write nothing.
    """

    def __init__(
        self,
        *,
        tool_filter: ToolPredicate | list[str] | None = None,
        credentials_config: BigQueryCredentialsConfig | None = None,
        bigquery_tool_config: BigQueryToolConfig | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter)
        self._credentials_config = credentials_config
        self._tool_settings = bigquery_tool_config or BigQueryToolConfig()

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools offered in the run that `readonly_context` shows."""
        functions = (
            get_dataset_info,
            get_table_info,
            list_dataset_ids,
            list_table_ids,
            get_job_info,
            get_execute_sql(self._tool_settings),
            forecast,
            analyze_contribution,
            detect_anomalies,
            ask_data_insights,
            search_catalog,
        )
        tools = [
            GoogleTool(
                function,
                credentials_config=self._credentials_config,
                tool_settings=self._tool_settings,
            )
            for function in functions
        ]
        return [tool for tool in tools if self._is_tool_selected(tool, readonly_context)]

    def _is_tool_selected(self, tool: BaseTool, readonly_context: ReadonlyContext | None) -> bool:
        if self.tool_filter == []:
            return False
        return super()._is_tool_selected(tool, readonly_context)

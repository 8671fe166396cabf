"""Face of tools.bigquery.metadata_tool, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.bigquery.metadata_tool import get_dataset_info as get_dataset_info
    from ostinato.tools.bigquery.metadata_tool import get_job_info as get_job_info
    from ostinato.tools.bigquery.metadata_tool import get_table_info as get_table_info
    from ostinato.tools.bigquery.metadata_tool import list_dataset_ids as list_dataset_ids
    from ostinato.tools.bigquery.metadata_tool import list_table_ids as list_table_ids

__getattr__, __dir__, __all__ = attach(__name__)

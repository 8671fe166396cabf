"""BigQueryToolConfig: what settings are refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from ostinato.tools.bigquery.config import BigQueryToolConfig, WriteMode


def test_by_default_nothing_is_written_and_50_rows_are_returned() -> None:
    config = BigQueryToolConfig()
    assert config.write_mode is WriteMode.BLOCKED and config.max_query_result_rows == 50


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("maximum_bytes_billed", 10_485_759, "10485760"),
        ("application_name", "my shop", "spaces"),
        ("job_labels", {"": "x"}, "empty"),
        ("job_labels", {"adk-bigquery-tool": "x"}, "reserved"),
        ("job_labels", {f"k{n}": "x" for n in range(21)}, "20"),
        ("max_rows", 5, "Extra inputs"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(field: str, value: Any, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        BigQueryToolConfig(**{field: value})


def test_settings_at_the_limits_are_accepted() -> None:
    labels = {f"k{n}": "x" for n in range(20)}
    config = BigQueryToolConfig(maximum_bytes_billed=10_485_760, job_labels=labels)
    assert config.job_labels == labels

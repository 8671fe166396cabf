"""BigQueryToolConfig: what the tools of BigQuery may do."""

from enum import Enum

from pydantic import BaseModel, ConfigDict, field_validator

_LEAST_BYTES = 10_485_760
_MOST_LABELS = 20
_RESERVED = "adk-bigquery-"


class WriteMode(Enum):
    """What `execute_sql` may write.

    Attributes:
      BLOCKED: nothing: only single SELECT statements run.
      PROTECTED: temporary tables, models and functions of the agent's own BigQuery session.
      ALLOWED: whatever the login may.
    """

    BLOCKED = "blocked"
    PROTECTED = "protected"
    ALLOWED = "allowed"


class BigQueryToolConfig(BaseModel):
    """Settings of the tools of BigQuery.

    Attributes:
      write_mode: what SQL may write.
      maximum_bytes_billed: the most bytes that one query may be billed for, at least 10485760.
      max_query_result_rows: how many rows of a result the model is given.
      application_name: of the program, without spaces; it goes into the `User-Agent` and into a
        label of each job.
      compute_project_id: the only project in which queries run.
      location: where data and computing are; BigQuery chooses if None.
      job_labels: labels of each job, 20 at most; `adk-bigquery-` is reserved.
    """

    model_config = ConfigDict(extra="forbid")

    write_mode: WriteMode = WriteMode.BLOCKED
    maximum_bytes_billed: int | None = None
    max_query_result_rows: int = 50
    application_name: str | None = None
    compute_project_id: str | None = None
    location: str | None = None
    job_labels: dict[str, str] | None = None

    @field_validator("maximum_bytes_billed")
    @classmethod
    def validate_maximum_bytes_billed(cls, v: int | None) -> int | None:
        """Refuse a limit below what BigQuery bills for any query."""
        if v and v < _LEAST_BYTES:
            raise ValueError(
                f"maximum_bytes_billed is {v}, but BigQuery bills at least 10 MB for a query: set "
                f">={_LEAST_BYTES}."
            )
        return v

    @field_validator("application_name")
    @classmethod
    def validate_application_name(cls, v: str | None) -> str | None:
        """Refuse a name with spaces."""
        if v and " " in v:
            raise ValueError("Application name should not contain spaces.")
        return v

    @field_validator("job_labels")
    @classmethod
    def validate_job_labels(cls, v: dict[str, str] | None) -> dict[str, str] | None:
        """Refuse too many labels, empty keys and reserved ones."""
        if v is None:
            return v
        if len(v) > _MOST_LABELS:
            raise ValueError(f"Only up to {_MOST_LABELS} job labels can be provided")
        for key in v:
            if not key:
                raise ValueError("Label keys cannot be empty.")
            if key.startswith(_RESERVED):
                raise ValueError(
                    f'Label key cannot start with "{_RESERVED}", which is reserved for internal '
                    f'usage, found "{key}".'
                )
        return v

"""Settings of an app that a run reads: resumability and compaction. `ostinato.apps` faces them."""

from typing import Protocol

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SkipValidation, model_validator

from ..events.event import Event


class ResumabilityConfig(BaseModel):
    """Whether invocations may pause and be resumed (Spec 1 §19).

    Attributes:
      is_resumable: pause on long-running tools, keep agents' checkpoints, resume by invocation id.
    """

    model_config = ConfigDict(defer_build=True)

    is_resumable: bool = False


class Summarizer(Protocol):
    """Turns events into one event that carries their summary; `BaseEventsSummarizer` is one."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None: ...


class EventsCompactionConfig(BaseModel):
    """When earlier events are replaced by a summary (Spec 1 §20).

    Attributes:
      summarizer: makes the summary; by default, the root agent's model.
      compaction_interval: completed invocations after which a summary is made; each one if it is
        less than 1 (`compaction_invocation_threshold` is accepted too).
      overlap_size: earlier invocations that are summarized again; 0 or more.
      token_threshold: prompt tokens from which a request compacts first.
      event_retention_size: newest events that token compaction keeps.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="forbid", populate_by_name=True, defer_build=True
    )

    summarizer: SkipValidation[Summarizer | None] = None
    compaction_interval: int = Field(
        validation_alias=AliasChoices("compaction_interval", "compaction_invocation_threshold"),
    )
    overlap_size: int
    token_threshold: int | None = Field(default=None, gt=0)
    event_retention_size: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _token_settings_come_together(self) -> "EventsCompactionConfig":
        if (self.token_threshold is None) != (self.event_retention_size is None):
            raise ValueError("token_threshold and event_retention_size must be set together.")
        return self

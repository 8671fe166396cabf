"""Thinking: how much a model reasons before it answers."""

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class ThinkingLevel(CaseInsensitiveEnum):
    """How much a model thinks before it answers."""

    THINKING_LEVEL_UNSPECIFIED = "THINKING_LEVEL_UNSPECIFIED"
    MINIMAL = "MINIMAL"
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    XHIGH = "XHIGH"


class ThinkingConfig(Record):
    """How much a model thinks, and whether its thoughts are returned."""

    include_thoughts: bool | None = None
    thinking_budget: int | None = None
    thinking_level: ThinkingLevel | None = None

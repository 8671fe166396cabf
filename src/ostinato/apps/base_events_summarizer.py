"""Face: BaseEventsSummarizer at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.flows.llm_flows.event_summarizer import (
        BaseEventsSummarizer as BaseEventsSummarizer,
    )

__getattr__, __dir__, __all__ = attach(__name__)

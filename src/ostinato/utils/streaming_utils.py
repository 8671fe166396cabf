"""Face: StreamingResponseAggregator at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.models.streaming_response import (
        StreamingResponseAggregator as StreamingResponseAggregator,
    )

__getattr__, __dir__, __all__ = attach(__name__)

"""Face: compaction at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.flows.llm_flows.compaction import compact_sliding_window as compact_sliding_window

__getattr__, __dir__, __all__ = attach(__name__)

"""Face: the markers of unfinished code, at the path programs import them from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.features.markers import experimental as experimental
    from ostinato.features.markers import working_in_progress as working_in_progress

__getattr__, __dir__, __all__ = attach(__name__)

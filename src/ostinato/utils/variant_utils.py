"""Face: the two back ends of Google's models, at the path programs import them from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.features.environment import GoogleLLMVariant as GoogleLLMVariant
    from ostinato.features.environment import get_google_llm_variant as get_google_llm_variant

__getattr__, __dir__, __all__ = attach(__name__)

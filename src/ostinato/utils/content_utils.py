"""Face: what is said about contents, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.types.content import extract_text_from_content as extract_text_from_content
    from ostinato.types.content import filter_audio_parts as filter_audio_parts
    from ostinato.types.content import is_audio_part as is_audio_part

__getattr__, __dir__, __all__ = attach(__name__)

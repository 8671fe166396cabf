"""Face: can_use_output_schema_with_tools at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.models.model_names import (
        can_use_output_schema_with_tools as can_use_output_schema_with_tools,
    )

__getattr__, __dir__, __all__ = attach(__name__)

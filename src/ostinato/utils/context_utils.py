"""Face: Aclosing and find_context_parameter at the path programs import them from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato._aclosing import Aclosing as Aclosing
    from ostinato.tools.function.function_signature import (
        find_context_parameter as find_context_parameter,
    )

__getattr__, __dir__, __all__ = attach(__name__)

"""Face of the parameters of operations."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.api_parameter import ApiParameter as ApiParameter
    from ostinato.tools.openapi.api_parameter import PydocHelper as PydocHelper
    from ostinato.tools.openapi.api_parameter import TypeHintHelper as TypeHintHelper
    from ostinato.tools.openapi.api_parameter import (
        rename_python_keywords as rename_python_keywords,
    )

__getattr__, __dir__, __all__ = attach(__name__)

"""Face of the reader of one operation."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.operation_parser import OperationParser as OperationParser

__getattr__, __dir__, __all__ = attach(__name__)

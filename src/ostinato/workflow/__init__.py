"""Workflow graphs: only the node that agents share with them is built yet."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.node import BaseNode as BaseNode
    from ostinato.context.node import RetryConfig as RetryConfig

__getattr__, __dir__, __all__ = attach(__name__)

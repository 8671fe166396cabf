"""Face: references in agent files at the path programs import them from."""

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from ..agent_files.references import AgentRefConfig as AgentRefConfig
    from ..agent_files.references import CodeConfig as CodeConfig

__getattr__, __dir__, __all__ = attach(__name__)

"""Apps: agent trees with their plugins and settings."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.apps.app import App as App
    from ostinato.context.app_config import EventsCompactionConfig as EventsCompactionConfig
    from ostinato.context.app_config import ResumabilityConfig as ResumabilityConfig
    from ostinato.context.budget import Budget as Budget
    from ostinato.context.budget import Price as Price
    from ostinato.context.context_policy import ContextPolicy as ContextPolicy

__getattr__, __dir__, __all__ = attach(__name__)

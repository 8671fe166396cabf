"""Face: the invocation context at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.invocation import InvocationContext as InvocationContext
    from ostinato.context.invocation import LlmCallsLimitExceededError as LlmCallsLimitExceededError
    from ostinato.context.invocation import RealtimeCacheEntry as RealtimeCacheEntry
    from ostinato.context.invocation import new_invocation_context_id as new_invocation_context_id

__getattr__, __dir__, __all__ = attach(__name__)

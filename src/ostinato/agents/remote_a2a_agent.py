"""Face: RemoteA2aAgent at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.a2a.outgoing_message import A2A_METADATA_PREFIX as A2A_METADATA_PREFIX
    from ostinato.a2a.remote_agent import DEFAULT_TIMEOUT as DEFAULT_TIMEOUT
    from ostinato.a2a.remote_agent import A2AClientError as A2AClientError
    from ostinato.a2a.remote_agent import AgentCardResolutionError as AgentCardResolutionError
    from ostinato.a2a.remote_agent import RemoteA2aAgent as RemoteA2aAgent

__getattr__, __dir__, __all__ = attach(__name__)

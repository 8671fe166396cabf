"""Sessions: face of this package."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.sessions.base_session_service import BaseSessionService as BaseSessionService
    from ostinato.sessions.base_session_service import GetSessionConfig as GetSessionConfig
    from ostinato.sessions.base_session_service import ListSessionsResponse as ListSessionsResponse
    from ostinato.sessions.database_session_service import (
        DatabaseSessionService as DatabaseSessionService,
    )
    from ostinato.sessions.in_memory_session_service import (
        InMemorySessionService as InMemorySessionService,
    )
    from ostinato.sessions.session import Session as Session
    from ostinato.sessions.sqlite_session_service import (
        SqliteSessionService as SqliteSessionService,
    )
    from ostinato.sessions.state import State as State
    from ostinato.sessions.state import StateSchemaError as StateSchemaError
    from ostinato.sessions.vertex_ai_session_service import (
        VertexAiSessionService as VertexAiSessionService,
    )

__getattr__, __dir__, __all__ = attach(__name__)

"""Face: `SessionNotFoundError` at the path ADK programs import it from."""

from . import SessionNotFoundError as SessionNotFoundError

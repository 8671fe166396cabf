"""Face: `NotFoundError` at the path ADK programs import it from."""

from . import NotFoundError as NotFoundError

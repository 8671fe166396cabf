"""Face: `AlreadyExistsError` at the path ADK programs import it from."""

from . import AlreadyExistsError as AlreadyExistsError

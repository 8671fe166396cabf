"""Face: `InputValidationError` at the path ADK programs import it from."""

from . import InputValidationError as InputValidationError

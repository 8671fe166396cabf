"""ToolExecutionError: what a tool may raise to say what kind of failure it was.

It is not an error of Ostinato's: like any exception of a tool it goes the way the run's
`tool_errors` says.
"""

from enum import Enum


class ToolErrorType(str, Enum):  # noqa: UP042 - str() gives the member's name, as in google-adk
    """Kinds of failures, named as HTTP names them."""

    BAD_REQUEST = "BAD_REQUEST"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    REQUEST_TIMEOUT = "REQUEST_TIMEOUT"
    INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"
    BAD_GATEWAY = "BAD_GATEWAY"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    GATEWAY_TIMEOUT = "GATEWAY_TIMEOUT"


class ToolExecutionError(Exception):
    """A tool failed.

    Args:
      message: what happened.
      error_type: its kind; a ToolErrorType is kept as its text.
    """

    def __init__(self, message: str, error_type: ToolErrorType | str | None = None) -> None:
        super().__init__(message)
        self.message = message
        is_kind = isinstance(error_type, ToolErrorType)
        self.error_type = error_type.value if is_kind else error_type

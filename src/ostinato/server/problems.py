"""Problems: what a client is told when something goes wrong, without paths, stacks and secrets.

Every answer of 4xx and 5xx has the body `{"detail": ..., "error": {"type", "message"}}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .. import errors
from .._log import get_logger
from ..hosting.failure import SetupError

logger = get_logger(__name__)

_STATUS: tuple[tuple[type[BaseException], int], ...] = (
    (errors.NotFoundError, 404),
    (errors.AlreadyExistsError, 409),
    (errors.StaleSessionError, 409),
    (errors.SessionBusyError, 409),
    (errors.RunCancelledError, 409),
    (errors.CallerError, 400),
    (errors.ModelUnavailableError, 503),
    (errors.ModelRateLimitError, 503),
    (errors.ModelTimeoutError, 504),
    (errors.ProviderError, 502),
    (errors.StoreError, 503),
    (NotImplementedError, 501),
)

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|xox[abprs])[-_][\w-]{8,}|\bAIza[\w-]{20,}|\bya29\.[\w.-]+|"
    r"\beyJ[\w-]+\.[\w-]+\.[\w-]*|(?i:\bbearer\s+)[\w.~+/=-]{8,}|"
    r"(?i:((?:api[_-]?)?key|token|secret|password)(\"?\s*[=:]\s*\"?))[^\s\"'&,;]{4,}|"
    r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_PATHS = re.compile(
    r"(?<![\w:/.])(?:/[\w.@+ -]*[\w.@+-])+/([\w.@+-]+)|\b[A-Za-z]:\\(?:[^\\\s]+\\)*"
)


def public_text(text: str) -> str:
    """Return what may leave of an error's text: names of files without folders, no keys."""
    text = _SECRETS.sub(lambda m: f"{m[1]}{m[2]}[redacted]" if m[1] else "[redacted]", text)
    return _PATHS.sub(lambda m: m[1] or "", text)


class Problem(Exception):
    """A request that is answered with an error.

    Args:
      status: the HTTP status.
      kind: name of the problem, for programs.
      message: what is wrong, for a person.
      detail: what google-adk's server puts under `detail`, where that is not the message.
      headers: further headers of the answer.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        detail: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.detail = message if detail is None else detail
        self.headers = dict(headers or {})


def problem_of(error: BaseException) -> Problem:
    """Return what is said of an error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        words = str(error.detail)
        return Problem(error.status_code, _kind(words), words, headers=error.headers)
    if isinstance(error, SetupError):
        return Problem(503, "AgentLoadError", public_text(error.message))
    name = type(error).__name__
    message = public_text(str(error)) or name
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return Problem(status, name, message)
    return Problem(500, name, message if isinstance(error, errors.OstinatoError) else "")


def _kind(words: str) -> str:
    return "".join(word.capitalize() for word in words.split())


def problem_response(problem: Problem) -> Response:
    """Return the answer that tells a problem."""
    message = problem.message or "Something went wrong here; the server's log has more."
    body = {
        "detail": problem.detail or message,
        "error": {"type": problem.kind, "message": message},
    }
    return JSONResponse(body, problem.status, headers=problem.headers)


async def on_problem(request: Request, error: Exception) -> Response:
    """Answer a request that raised; Starlette calls it."""
    log_problem(request, error)
    return problem_response(problem_of(error))


def log_problem(request: Request, error: Exception) -> None:
    """Write what the developer has to know of a request that raised into the log."""
    if problem_of(error).status >= 500 and not isinstance(error, Problem):
        logger.error("%s %s failed: %s", request.method, request.url.path, error, exc_info=error)

"""Problems: error responses for clients, without paths, stack traces and secrets.

Every response of 4xx and 5xx has the body `{"detail": ..., "error": {"type", "message"}}`. Clients
get the messages of Ostinato's own errors. Of any other error they get the type and an id, by which
the developer finds its text in the log; `ostinato web` shows the text, too.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .. import _clock, errors
from .._log import get_logger, outage_log_of
from .._secrets import redact_text
from ..events.event import Event
from ..hosting.setup_error import SetupError
from ..types import Part

logger = get_logger(__name__)

_STATUS: tuple[tuple[type[BaseException], int], ...] = (
    (errors.NotFoundError, 404),
    (errors.AlreadyExistsError, 409),
    (errors.CallAlreadyAnsweredError, 409),
    (errors.LeaseLostError, 503),
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

KEY_REUSED = "IdempotencyKeyReused"
DRAINING = "Draining"

_RETRY_SOON = {"Retry-After": "1"}

_LONGEST = 4_000  # characters of an error's text for clients
_DEEPEST = 20  # errors in a chain of causes
_LONGEST_NAME = 100  # characters of the name of an error's class
_LONGEST_LOGGED = 200  # characters of a client's text in a log line
_PATHS = re.compile(
    r"(?:(?<![\w:/.])|(?<=file://))/(?:[\w.@+-]++(?: [\w.@+-]++)*+/)+([\w.@+-]+)"
    r"|\b[A-Za-z]:\\(?:[^\\\s]++\\)*"
)
# Error codes of providers and protocols, in contrast to names of error classes.
_CODE = re.compile(r"[A-Z0-9_]+|[a-z0-9]+(?:[_.-][a-z0-9]+)+|[0-9.]+")
_ID = "ostinato_error_id"

_for_developer: ContextVar[bool] = ContextVar("ostinato_for_developer", default=False)


@contextmanager
def answering_developer(yes: bool) -> Generator[None]:
    """Show the texts of all errors within the block if the client is the agent's developer."""
    before = _for_developer.set(yes)
    try:
        yield
    finally:
        _for_developer.reset(before)


def public_text(text: str) -> str:
    """Return an error's text for clients: cut, file names without folders, no secrets."""
    return _PATHS.sub(lambda found: found[1] or "", redact_text(_cut(text)))


def _redact_texts(value: Any) -> Any:
    """Return JSON without secrets in its texts."""
    if isinstance(value, str):
        return redact_text(_cut(value))
    if isinstance(value, list):
        return [_redact_texts(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _redact_texts(one) for name, one in cast("dict[str, Any]", value).items()}
    return value


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def public_name(name: object) -> str:
    """Return the name of an error's class, or an error code, for clients: short, no secrets."""
    text = str(getattr(name, "value", name) or "")
    if len(text) > _LONGEST_NAME:
        text = f"{text[:_LONGEST_NAME]}…"
    return redact_text(text)


def loggable_text(text: str) -> str:
    """Return a client's text for a log line: cut, in one line, no secrets."""
    cut = redact_text(text[:_LONGEST_LOGGED])
    return cut if cut.isprintable() else ascii(cut)[1:-1]


def error_id(error: BaseException) -> str:
    """Return the id of an error, which the client gets and the log contains."""
    found: str | None = getattr(error, _ID, None)
    if found is None:
        found = _clock.new_id()
        try:
            setattr(error, _ID, found)
        except AttributeError:  # an error of compiled code without attributes
            return f"{id(error):x}"
    return found


class Problem(Exception):
    """An error response to a request.

    Args:
      status: the HTTP status.
      kind: name of the problem, for programs.
      message: the description of the problem, for a person.
      detail: the field `detail` of google-adk's server; None for the message.
      headers: further headers of the response.
      id: the error's id in the log; None for an error that the message explains.
      facts: further fields of `error`, for programs.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        detail: Any = None,
        headers: Mapping[str, str] | None = None,
        id: str | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        message = redact_text(_cut(message))
        super().__init__(message)
        self.facts = dict(facts or {})
        self.status, self.kind, self.message = status, public_name(kind), message
        self.detail = message if detail is None else _redact_texts(detail)
        self.headers = dict(headers or {})
        self.id = id


def invalid_input(message: str) -> Problem:
    """Return the problem of a request with invalid input."""
    return Problem(400, "InputValidationError", message)


def draining_problem(message: str) -> Problem:
    """Return the problem of a server that is shutting down; a client asks another one."""
    return Problem(503, DRAINING, message, headers=_RETRY_SOON)


def problem_of(error: BaseException) -> Problem:
    """Return the problem that a client gets for an error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        words = str(error.detail)
        return Problem(
            error.status_code,
            _problem_kind(words),
            words,
            detail=error.detail,
            headers=error.headers,
        )
    if isinstance(error, SetupError):
        return Problem(503, "AgentLoadError", public_text(error.message))
    if isinstance(error, errors.IdempotencyKeyReusedError):
        words = "This Idempotency-Key was already used for another request; use a new one."
        return Problem(422, KEY_REUSED, words)
    if isinstance(error, errors.RunHandedOverError):
        return draining_problem(
            "This server is shutting down, and another one will resume the run. Read the session's "
            "events, or repeat a request that has an Idempotency-Key."
        )
    name = public_name(type(error).__name__)
    status = next((one for kind, one in _STATUS if isinstance(error, kind)), 500)
    if isinstance(error, errors.OstinatoError):
        # What comes back, or continues elsewhere; a missing model does not.
        passes = isinstance(error, errors.LeaseLostError | errors.StoreError)
        return Problem(
            status,
            name,
            _own_text(error) or name,
            headers=_RETRY_SOON if passes else None,
            facts=_facts_of(error),
        )
    known = error_id(error)
    if _for_developer.get():
        message = public_text(str(error)) or name
    else:
        message = _foreign_message(name, f"error {known}")
    return Problem(status, name, message, id=known)


def problem_of_event(event: Event) -> Problem | None:
    """Return the problem for the error that ended a run, from the event that records it.

    Returns:
      The problem, or None if the event has no error or the error of a model's answer.
    """
    name = public_name(event.error_code)
    if not name or _CODE.fullmatch(name):
        return None
    kind: object = getattr(errors, name, None)
    status = 500
    if isinstance(kind, type):
        status = next((one for known, one in _STATUS if issubclass(kind, known)), 500)
    message = public_message(name, event.error_message or "", event.invocation_id)
    return Problem(status, name, message or name)


def _foreign_message(name: str, reference: str) -> str:
    return f"Failed with {public_name(name)}. The server's log has the details under {reference}."


def _own_text(error: errors.OstinatoError) -> str:
    """Return the text of one of Ostinato's errors, without quoted texts of foreign errors."""
    text = str(error)
    if _for_developer.get() or isinstance(error, errors.ProviderError):
        return public_text(text)  # adapters have cleaned the text of their provider
    cause: BaseException | None = error.__cause__ or error.__context__
    for _ in range(_DEEPEST):
        if cause is None:
            break
        quoted = str(cause)
        if quoted and not isinstance(cause, errors.OstinatoError | SetupError):
            text = _replace_quote(text, quoted, public_name(type(cause).__name__))
        cause = cause.__cause__ or cause.__context__
    return public_text(text)


def _replace_quote(text: str, quoted: str, name: str) -> str:
    """Return a text with a quoted one replaced by a name; a part of a word is no quote."""
    before = r"(?<!\w)" if quoted[0].isalnum() else ""
    after = r"(?!\w)" if quoted[-1].isalnum() else ""
    return re.sub(before + re.escape(quoted) + after, lambda _: name, text)


# The name of an error class and a colon: how the runtime reports a tool's error to the model.
_TOLD_ERROR = re.compile(r"([^\W\d]\w*+): ")


def public_event(event: Event) -> Event:
    """Return an event for clients, whose error shows no more than `problem_of` does.

    The error refers to the log by the event's invocation id.
    """
    changed: dict[str, Any] = {}
    if event.error_message:
        changed["error_message"] = public_message(
            event.error_code, event.error_message, event.invocation_id
        )
    if event.error_code:
        changed["error_code"] = public_name(event.error_code)
    content = event.content
    if content is not None and any(part.function_response for part in content.parts or ()):
        parts = [_public_part(part, event.invocation_id) for part in content.parts or ()]
        changed["content"] = content.model_copy(update={"parts": parts})
    return event.model_copy(update=changed) if changed else event


def _public_part(part: Part, invocation_id: str) -> Part:
    answer = part.function_response
    if answer is None or not answer.response:
        return part
    response = public_response(answer.response, invocation_id)
    if response is answer.response:
        return part
    return part.model_copy(
        update={"function_response": answer.model_copy(update={"response": response})}
    )


def public_response(response: dict[str, Any], invocation_id: str) -> dict[str, Any]:
    """Return a tool's response for clients, with its error cleaned like any other.

    Args:
      response: the response; the runtime writes an error as `{"error": "ValueError: text"}`.
      invocation_id: the invocation.
    """
    text = response.get("error")
    if len(response) != 1 or not isinstance(text, str):
        return response
    found = _TOLD_ERROR.match(text)
    if found is None:
        return response
    name, said = found[1], text[found.end() :]
    if _for_developer.get() or name in _own_names():
        return {"error": f"{public_name(name)}: {public_text(said)}"}
    return {"error": _foreign_message(name, f"invocation {invocation_id}")}


def public_message(code: object, text: str, invocation_id: str) -> str:
    """Return the error message of an event or a model's answer, for clients.

    Args:
      code: the error code: a provider's, or the name of an error's class.
      text: the message.
      invocation_id: the invocation of the error.
    """
    name = str(getattr(code, "value", code) or "")
    if _for_developer.get() or not name or _CODE.fullmatch(name) or name in _own_names():
        return public_text(text)
    return _foreign_message(name, f"invocation {invocation_id}")


def _own_names() -> frozenset[str]:
    """Return the names of Ostinato's error classes."""
    found: set[str] = set()
    todo: list[type[BaseException]] = [errors.OstinatoError]
    while todo:
        kind = todo.pop()
        found.add(kind.__name__)
        todo += kind.__subclasses__()
    return frozenset(found)


def _facts_of(error: BaseException) -> dict[str, Any]:
    """Return the fields of an error besides its message."""
    if not isinstance(error, errors.CallAlreadyAnsweredError):
        return {}
    return {"callId": error.call_id, "answer": error.answer, "answeredAt": error.answered_at}


def _problem_kind(words: str) -> str:
    return "".join(word.capitalize() for word in words.split())


def problem_response(problem: Problem) -> Response:
    """Return the HTTP response of a problem."""
    message = problem.message or problem.kind
    error = {"type": problem.kind, "message": message, **problem.facts}
    if problem.id is not None:
        error["id"] = problem.id
    body = {"detail": problem.detail or message, "error": error}
    return JSONResponse(body, problem.status, headers=problem.headers)


def rpc_error(
    code: int, message: str, status: int, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response to a JSON-RPC request whose id is not known."""
    error = {"code": code, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers)


async def on_problem(request: Request, error: Exception) -> Response:
    """Return the response to a failed request; Starlette calls it."""
    log_problem(request, error)
    return problem_response(problem_of(error))


def stack_of(error: Exception) -> Exception | None:
    """Return the error if its stack trace helps in the log, or None for a store's outage."""
    return None if isinstance(error, errors.StoreError) else error


def log_problem(request: Request, error: Exception) -> None:
    """Log the error of a failed request for the developer."""
    problem = problem_of(error)
    if isinstance(error, errors.StoreError):
        outage_log_of(request.app.state.host.services.sessions).note_failure(error)
    elif problem.status >= 500 and not isinstance(error, Problem):
        logger.error(
            "%s %s failed (error %s): %s",
            request.method,
            loggable_text(request.url.path),
            error_id(error),
            error,
            exc_info=error,
        )

"""Errors in the format of OpenAI's API."""

from __future__ import annotations

from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...execution.stream_items import StreamItems
from ..problems import KEY_REUSED, Problem, log_problem, problem_of, public_message

_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def error_of(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status of an error, and the object for its field `error`."""
    problem = problem_of(error)
    param = None
    findings = cast("list[dict[str, Any]] | str", problem.detail)
    if isinstance(findings, list):  # of a validation
        param = ".".join(str(one) for one in findings[0]["loc"][1:]) or None
    # OpenAI answers 400 for an invalid body; a reused key keeps 422.
    invalid = problem.status == 422 and problem.kind != KEY_REUSED
    status = 400 if invalid else problem.status
    server = status >= 500
    kind = "server_error" if server else _KINDS.get(status, "invalid_request_error")
    fields: dict[str, Any] = {
        "message": problem.message,
        "type": kind,
        "param": param,
        "code": problem.kind,
        **problem.facts,
    }
    return status, fields if problem.id is None else {**fields, "id": problem.id}


async def on_error(request: Request, error: Exception) -> Response:
    """Return the response to a failed request."""
    log_problem(request, error)
    status, fields = error_of(error)
    body = {"error": fields, "detail": fields["message"]}
    return JSONResponse(body, status, headers=problem_of(error).headers)


def failure_of(pieces: StreamItems) -> Problem | None:
    """Return the problem of a model's error, or None without one; a refusal is an answer."""
    if pieces.failure is None or pieces.refused:
        return None
    code, message = pieces.failure
    text = public_message(code, message, pieces.invocation)
    return Problem(502, code, text or "The model answered with an error.")


def unsupported_parameter(param: str, why: str) -> Problem:
    """Return the problem of a parameter that agents do not support."""
    detail = [{"type": "unsupported", "loc": ["body", param], "msg": why}]
    return Problem(400, "unsupported_parameter", f"{param}: {why}", detail=detail)

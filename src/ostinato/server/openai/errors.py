"""Errors as OpenAI's API tells them."""

from __future__ import annotations

from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...running.pieces import Pieces
from ..problems import Problem, log_problem, problem_of, public_text

_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def error_of(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status of an error, and what is told of it under `error`."""
    problem = problem_of(error)
    param = None
    findings = cast("list[dict[str, Any]] | str", problem.detail)
    if isinstance(findings, list):  # of a validation
        param = ".".join(str(one) for one in findings[0]["loc"][1:]) or None
    status = 400 if problem.status == 422 else problem.status
    server = status >= 500
    kind = "server_error" if server else _KINDS.get(status, "invalid_request_error")
    return status, {
        "message": problem.message or "Something went wrong here; the server's log has more.",
        "type": kind,
        "param": param,
        "code": problem.kind,
    }


async def on_error(request: Request, error: Exception) -> Response:
    """Answer a request that raised."""
    log_problem(request, error)
    status, told = error_of(error)
    body = {"error": told, "detail": told["message"]}
    return JSONResponse(body, status, headers=problem_of(error).headers)


def failure_of(pieces: Pieces) -> Problem | None:
    """Return what a model's error is answered with; None where there was none, or where the model
    refused, which is an answer."""
    if pieces.failure is None or pieces.refused:
        return None
    code, message = pieces.failure
    return Problem(502, code, public_text(message) or "The model answered with an error.")


def unsupported(param: str, why: str) -> Problem:
    """Return the problem of a parameter that an agent cannot be given."""
    detail = [{"type": "unsupported", "loc": ["body", param], "msg": why}]
    return Problem(400, "unsupported_parameter", f"{param}: {why}", detail=detail)

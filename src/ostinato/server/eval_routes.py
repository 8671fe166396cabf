"""Routes of google-adk's page for eval sets, results and metrics, on the development server only.

The handlers load at the first request, so that the server starts without the evaluation.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import BaseModel
from starlette.routing import BaseRoute

from .. import _lazy
from .endpoint import Call, Endpoint

_HANDLERS = "ostinato.server.eval_handlers"
_APP = "/dev/apps/{app}"
_SETS, _OLD_SETS = f"{_APP}/eval-sets", f"{_APP}/eval_sets"
_CASES = (f"{_SETS}/{{eval_set}}/eval-cases", f"{_OLD_SETS}/{{eval_set}}/evals")


class _Body(BaseModel):
    model_config = {"extra": "allow"}


async def _handle(name: str, call: Call) -> Any:
    return await _lazy.load(f"{_HANDLERS}:{name}")(call)


def _make_endpoint(
    method: str, path: str, summary: str, name: str, *, body: bool = False, long: bool = False
) -> Endpoint:
    handler = partial(_handle, name)
    return Endpoint(method, path, summary, handler, body=_Body if body else None, long=long)


_ENDPOINTS = (
    _make_endpoint("GET", _SETS, "Eval sets", "list_sets"),
    _make_endpoint("GET", _OLD_SETS, "Eval sets", "list_sets_plain"),
    _make_endpoint("POST", _SETS, "Create an eval set", "create_set", body=True),
    _make_endpoint("POST", f"{_OLD_SETS}/{{eval_set}}", "Create an eval set", "create_set_of_path"),
    *(
        _make_endpoint("POST", f"{path}", "Add a session as a case", "add_session", body=True)
        for path in (
            f"{_SETS}/{{eval_set}}/add-session",
            f"{_OLD_SETS}/{{eval_set}}/add_session",
        )
    ),
    *(_make_endpoint("GET", path, "Cases", "list_cases") for path in _CASES),
    *(_make_endpoint("GET", f"{path}/{{eval_case}}", "A case", "get_case") for path in _CASES),
    *(
        _make_endpoint("PUT", f"{path}/{{eval_case}}", "Replace a case", "update_case", body=True)
        for path in _CASES
    ),
    *(
        _make_endpoint("DELETE", f"{path}/{{eval_case}}", "Delete a case", "delete_case")
        for path in _CASES
    ),
    _make_endpoint(
        "POST", f"{_SETS}/{{eval_set}}/run", "Run cases", "run_cases", body=True, long=True
    ),
    _make_endpoint(
        "POST",
        f"{_OLD_SETS}/{{eval_set}}/run_eval",
        "Run cases",
        "run_cases_plain",
        body=True,
        long=True,
    ),
    _make_endpoint("GET", f"{_APP}/eval-results", "Results", "list_results"),
    _make_endpoint("GET", f"{_APP}/eval_results", "Results", "list_results_plain"),
    _make_endpoint("GET", f"{_APP}/eval-results/{{result}}", "A result", "get_result"),
    _make_endpoint("GET", f"{_APP}/eval_results/{{result}}", "A result", "get_result"),
    _make_endpoint("GET", f"{_APP}/metrics-info", "Metrics", "list_metrics"),
)


def make_routes(prefix: str) -> list[BaseRoute]:
    """Return the routes.

    Args:
      prefix: the path below which the server answers.
    """
    return [one.make_route(prefix) for one in _ENDPOINTS]

"""Handlers of the evaluation's routes: files beside the agents, and runs of cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from .._aclosing import Aclosing
from ..errors import NotFoundError, OstinatoError
from ..evaluation.base_eval_service import (
    EvaluateConfig,
    EvaluateRequest,
    InferenceConfig,
    InferenceRequest,
)
from ..evaluation.case_runner import RunSettings
from ..evaluation.eval_case import EvalCase
from ..evaluation.eval_config import (
    EvalConfig,
    get_eval_metrics_from_config,
    get_evaluation_criteria_or_default,
)
from ..evaluation.eval_metrics import EvalMetric
from ..evaluation.eval_result import EvalCaseResult
from ..evaluation.eval_set import EvalSet
from ..evaluation.eval_set_results_manager import EvalSetResultsManager
from ..evaluation.eval_sets_manager import EvalSetsManager
from ..evaluation.local_eval_service import LocalEvalService
from ..evaluation.metric_evaluator_registry import (
    DEFAULT_METRIC_EVALUATOR_REGISTRY,
    MetricEvaluatorRegistry,
    make_registry,
)
from ..evaluation.session_case import make_session_case
from ..evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from ..evaluation.storage import open_results_manager, open_sets_manager
from .bodies import validate_record
from .endpoint import Call
from .names import check_id
from .problems import Problem, public_text

_T = TypeVar("_T")
_CONFIG_FILE = "test_config.json"
_CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class CreateSetBody(BaseModel):
    """The set to create; its cases are not stored, as in google-adk."""

    model_config = _CAMEL

    eval_set: EvalSet


class AddSessionBody(BaseModel):
    """The session that becomes a case, or only the turn of one invocation, and the case's id."""

    model_config = _CAMEL

    eval_id: str
    session_id: str
    user_id: str
    invocation_id: str | None = None


class RunBody(BaseModel):
    """The cases to run, all of them if empty, and the metrics.

    Without metrics, the agent's `test_config.json` counts, as on the command line.
    """

    model_config = _CAMEL

    eval_ids: list[str] = Field(default_factory=list[str])
    eval_case_ids: list[str] = Field(default_factory=list[str])
    eval_metrics: list[EvalMetric] | None = None


def _read_body(call: Call, record: type[_T]) -> _T:
    return validate_record(record, call.body.model_dump(), "body")  # type: ignore[type-var]


def _open_stores(call: Call) -> tuple[str, EvalSetsManager, EvalSetResultsManager]:
    """Return the app of the path with the stores of its eval sets and results.

    Raises:
      NotFoundError: there is no such app.
    """
    app = check_id("app name", call.path["app"])
    folder = call.host.agents.list_folders().get(app)
    if folder is None:
        raise NotFoundError(f"Agent not found: {app!r}")
    parent = str(folder.parent)
    return app, open_sets_manager(None, parent), open_results_manager(None, parent)


async def _in_thread(work: Callable[..., _T], *args: Any) -> _T:
    """Return the result of work on files.

    Raises:
      NotFoundError: the file or the case does not exist.
      Problem: a name or a record is not valid.
    """
    try:
        return await asyncio.to_thread(work, *args)
    except NotFoundError:
        raise
    except ValueError as error:
        raise Problem(400, type(error).__name__, str(error)) from error


def _to_json(record: BaseModel) -> Any:
    return record.model_dump(mode="json", by_alias=True, exclude_none=True, fallback=str)


async def list_sets_plain(call: Call) -> Any:
    """Return the ids of the eval sets of an app."""
    app, sets, _ = _open_stores(call)
    return await _in_thread(sets.list_eval_sets, app)


async def list_sets(call: Call) -> Any:
    """Return the ids of the eval sets of an app, as an object."""
    return {"evalSetIds": await list_sets_plain(call)}


async def create_set(call: Call) -> Any:
    """Create an empty eval set."""
    app, sets, _ = _open_stores(call)
    body = _read_body(call, CreateSetBody)
    return _to_json(await _in_thread(sets.create_eval_set, app, body.eval_set.eval_set_id))


async def create_set_of_path(call: Call) -> None:
    """Create the eval set that the path names."""
    app, sets, _ = _open_stores(call)
    await _in_thread(sets.create_eval_set, app, call.path["eval_set"])


async def add_session(call: Call) -> None:
    """Add a session, or one of its turns, as a case to an eval set.

    Raises:
      NotFoundError: there is no such session.
      InputValidationError: it has no message to run again, or no such turn.
    """
    app, sets, _ = _open_stores(call)
    body = _read_body(call, AddSessionBody)
    session = await call.host.services.sessions.get_session(
        app_name=app, user_id=body.user_id, session_id=body.session_id
    )
    if session is None:
        raise NotFoundError("Session not found")
    made = make_session_case(session, body.eval_id, body.invocation_id)
    await _in_thread(sets.add_eval_case, app, call.path["eval_set"], made.case)


async def list_cases(call: Call) -> Any:
    """Return the ids of the cases of an eval set."""
    found = await _load_set(call)
    return sorted(case.eval_id for case in found.eval_cases)


async def _load_set(call: Call) -> EvalSet:
    app, sets, _ = _open_stores(call)
    found = await _in_thread(sets.get_eval_set, app, call.path["eval_set"])
    if found is None:
        raise Problem(400, "NotFoundError", f"Eval set `{call.path['eval_set']}` not found.")
    return found


async def get_case(call: Call) -> Any:
    """Return a case.

    Raises:
      NotFoundError: there is no such set or case.
    """
    app, sets, _ = _open_stores(call)
    names = call.path["eval_set"], call.path["eval_case"]
    found = await _in_thread(sets.get_eval_case, app, *names)
    if found is None:
        raise NotFoundError(f"Eval set `{names[0]}` or Eval `{names[1]}` not found.")
    return _to_json(found)


async def update_case(call: Call) -> None:
    """Replace a case.

    Raises:
      NotFoundError: there is no such set or case.
      Problem: the case has another id than the path.
    """
    app, sets, _ = _open_stores(call)
    case = _read_body(call, EvalCase)
    if case.eval_id != call.path["eval_case"]:
        raise Problem(400, "ValueError", "The case has another eval id than the path.")
    await _in_thread(sets.update_eval_case, app, call.path["eval_set"], case)


async def delete_case(call: Call) -> None:
    """Delete a case.

    Raises:
      NotFoundError: there is no such set or case.
    """
    app, sets, _ = _open_stores(call)
    await _in_thread(sets.delete_eval_case, app, call.path["eval_set"], call.path["eval_case"])


async def run_cases_plain(call: Call) -> Any:
    """Run and evaluate cases; return a result for each, and store them.

    The tools run. The sessions are kept in memory, and with the stored results.

    Raises:
      Problem: the set or a case does not exist, or a metric is unknown.
    """
    app, sets, results = _open_stores(call)
    body = _read_body(call, RunBody)
    found = await _load_set(call)
    wanted = body.eval_case_ids or body.eval_ids
    unknown = [one for one in wanted if one not in {case.eval_id for case in found.eval_cases}]
    if unknown:
        raise Problem(400, "NotFoundError", f"Eval `{unknown[0]}` not found.")
    plan = await _in_thread(_make_plan, call.host.agents.list_folders()[app], body.eval_metrics)
    served = await call.host.agents.get_app(app)
    service = LocalEvalService(
        root_agent=served.loaded.app or served.loaded.root,
        eval_sets_manager=sets,
        eval_set_results_manager=results,
        metric_evaluator_registry=plan.registry,
        user_simulator_provider=UserSimulatorProvider(plan.config.user_simulator_config),
        settings=RunSettings(plan.config.tool_mocks, plan.config.seed, plan.config.budget),
    )
    request = InferenceRequest(
        app_name=app,
        eval_set_id=call.path["eval_set"],
        eval_case_ids=wanted,
        inference_config=InferenceConfig(),
    )
    async with Aclosing(service.perform_inference(request)) as stream:
        inferences = [one async for one in stream]
    evaluate = EvaluateRequest(
        inference_results=inferences,
        evaluate_config=EvaluateConfig(eval_metrics=plan.metrics),
    )
    async with Aclosing(service.evaluate(evaluate)) as evaluated:
        return [_run_result(one) async for one in evaluated]


@dataclass(slots=True)
class _Plan:
    """What a run is evaluated by: the config, its metrics, and what evaluates them."""

    config: EvalConfig
    metrics: list[EvalMetric]
    registry: MetricEvaluatorRegistry


def _make_plan(folder: Path, given: list[EvalMetric] | None) -> _Plan:
    """Return the plan of a run: with the metrics of the client, or else by the agent's config.

    Raises:
      Problem: the config or a metric is not valid.
    """
    if given is None:
        config = get_evaluation_criteria_or_default(str(folder / _CONFIG_FILE))
        metrics, registry = get_eval_metrics_from_config(config), make_registry(config)
    else:
        config, metrics, registry = EvalConfig(), given, DEFAULT_METRIC_EVALUATOR_REGISTRY
        for metric in metrics:
            metric.custom_function_path = None  # a client must not choose code
    for metric in metrics:
        try:
            registry.get_evaluator(metric)
        except (OstinatoError, ValueError, ImportError, TypeError) as error:
            raise Problem(400, type(error).__name__, str(error)) from error
    return _Plan(config, metrics, registry)


def _run_result(result: EvalCaseResult) -> Any:
    shown = _to_json(result)
    shown.pop("sessionDetails", None)
    shown["evalMetricResults"] = shown.get("evalMetricResults") or []
    if result.error_message is not None:
        shown["errorMessage"] = public_text(result.error_message)
    return shown


async def run_cases(call: Call) -> Any:
    """Run and evaluate cases; return the results as an object."""
    return {"runEvalResults": await run_cases_plain(call)}


async def list_results_plain(call: Call) -> Any:
    """Return the ids of the stored results of an app."""
    app, _, results = _open_stores(call)
    return await _in_thread(results.list_eval_set_results, app)


async def list_results(call: Call) -> Any:
    """Return the ids of the stored results of an app, as an object."""
    return {"evalResultIds": await list_results_plain(call)}


async def get_result(call: Call) -> Any:
    """Return a stored result.

    Raises:
      NotFoundError: there is no such result.
    """
    app, _, results = _open_stores(call)
    return _to_json(await _in_thread(results.get_eval_set_result, app, call.path["result"]))


async def list_metrics(call: Call) -> Any:
    """Return the descriptions of the built-in metrics."""
    _open_stores(call)
    metrics = DEFAULT_METRIC_EVALUATOR_REGISTRY.get_registered_metrics()
    return {"metricsInfo": [_to_json(one) for one in metrics]}

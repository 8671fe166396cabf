"""Optimization of a root agent's instruction by GEPA, with the sampler files of google-adk."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from .. import types
from .._aclosing import Aclosing
from .._optional import need
from ..agents.llm_agent import LlmAgent
from ..apps.app import App
from ..errors import InputValidationError, ModelAnswerError
from ..models.llm_request import LlmRequest
from ..models.registry import LLMRegistry
from .base_eval_service import EvaluateConfig, EvaluateRequest, InferenceConfig, InferenceRequest
from .case_runner import RunSettings
from .eval_case import Invocation, get_all_tool_calls_with_responses
from .eval_config import EvalConfig, get_eval_metrics_from_config
from .eval_result import EvalCaseResult
from .eval_sets_manager import EvalSetsManager
from .evaluator import EvalStatus
from .llm_as_judge_utils import get_text_from_content
from .local_eval_service import LocalEvalService
from .metric_evaluator_registry import make_registry
from .report import CaseReport
from .simulation.user_simulator_provider import UserSimulatorProvider

PROMPT = "agent_prompt"

_T = TypeVar("_T")


class SamplerConfig(BaseModel):
    """Which cases score an instruction.

    Attributes:
      eval_config: the criteria.
      app_name: the app of the eval sets.
      train_eval_set, train_eval_case_ids: the cases that instructions are improved on; all of the
        set by default.
      validation_eval_set, validation_eval_case_ids: the cases that choose among them; those of the
        training by default.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    eval_config: EvalConfig
    app_name: str
    train_eval_set: str
    train_eval_case_ids: list[str] | None = None
    validation_eval_set: str | None = None
    validation_eval_case_ids: list[str] | None = None


class OptimizerConfig(BaseModel):
    """How instructions are improved.

    Attributes:
      optimizer_model: the model that writes them.
      model_configuration: its settings.
      max_metric_calls: how many cases are run at most.
      reflection_minibatch_size: how many cases the model sees at once.
      run_dir: a folder for GEPA's own files, from which an interrupted run continues.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    optimizer_model: str = "gemini-2.5-flash"
    model_configuration: types.GenerateContentConfig = Field(
        default_factory=types.GenerateContentConfig
    )
    max_metric_calls: int = Field(default=100, ge=1)
    reflection_minibatch_size: int = Field(default=3, ge=1)
    run_dir: str | None = None


@dataclass(slots=True)
class OptimizationResult:
    """What an optimization found.

    Attributes:
      instruction: the best instruction.
      score: its share of passed validation cases, from 0 to 1.
      initial_score: that of the agent's own instruction.
      candidates: how many instructions were compared on all validation cases.
    """

    instruction: str
    score: float
    initial_score: float
    candidates: int


@dataclass(frozen=True, slots=True)
class _Example:
    """A case of an eval set."""

    eval_set_id: str
    eval_id: str


@dataclass(slots=True)
class _Batch:
    """The scores of an instruction on some examples, as GEPA reads them."""

    outputs: list[dict[str, Any]]
    scores: list[float]
    trajectories: list[dict[str, Any]] | None
    objective_scores: list[dict[str, float]] | None = None
    num_metric_calls: int | None = None


class _StoppedError(BaseException):
    """Ends the thread of GEPA, which continues after an Exception; the cause says why."""


class _LoopCalls:
    """Coroutines that the thread of GEPA runs in the event loop, until they are stopped.

    Args:
      loop: the event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._pending: concurrent.futures.Future[Any] | None = None
        self._is_stopped = False

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return what a coroutine returns.

        Raises:
          _StoppedError: the calls were stopped.
        """
        with self._lock:
            if self._is_stopped:
                work.close()
                raise _StoppedError
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._pending = future
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise _StoppedError from None

    def stop(self) -> None:
        """Cancel the coroutine that runs, and refuse others: the thread would wait for ever."""
        with self._lock:
            self._is_stopped = True
            if self._pending is not None:
                self._pending.cancel()


class _CaseAdapter:
    """Runs and scores examples for GEPA, which calls it in a thread of its own."""

    propose_new_texts = None

    def __init__(
        self,
        agent: Any,
        config: SamplerConfig,
        sets: EvalSetsManager,
        calls: _LoopCalls,
    ) -> None:
        self._agent, self._config, self._sets, self._calls = agent, config, sets, calls
        self._has_verdict = False

    def evaluate(
        self, batch: list[_Example], candidate: dict[str, str], capture_traces: bool = False
    ) -> _Batch:
        """Return the scores of an instruction: 1 for each case that passes, else 0.

        Raises:
          _StoppedError: no case could be evaluated so far.
        """
        results = self._calls.run(self._evaluate(batch, candidate[PROMPT]))
        self._check_verdicts(list(results.values()))
        outputs = [_describe(results[one]) for one in batch]
        scores = [float(results[one].final_eval_status is EvalStatus.PASSED) for one in batch]
        return _Batch(outputs, scores, outputs if capture_traces else None)

    def _check_verdicts(self, results: list[EvalCaseResult]) -> None:
        """Stop an optimization without any verdict; it would compare instructions by nothing."""
        is_open = all(one.final_eval_status is EvalStatus.NOT_EVALUATED for one in results)
        self._has_verdict = self._has_verdict or not is_open
        if not self._has_verdict:
            errors = [error for one in results for error in CaseReport("", "", [one]).errors]
            raise _StoppedError from InputValidationError(
                f"No case could be evaluated: {errors[0]}"
            )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return what the model reads to write a better instruction."""
        seen = [
            {"score": score, "eval_data": json.dumps(data, ensure_ascii=False, default=str)}
            for score, data in zip(eval_batch.scores, eval_batch.trajectories or [], strict=True)
        ]
        return {name: seen for name in components_to_update}

    async def _evaluate(
        self, batch: list[_Example], instruction: str
    ) -> dict[_Example, EvalCaseResult]:
        config = self._config.eval_config
        service = LocalEvalService(
            root_agent=with_instruction(self._agent, instruction),
            eval_sets_manager=self._sets,
            metric_evaluator_registry=make_registry(config),
            user_simulator_provider=UserSimulatorProvider(config.user_simulator_config),
            settings=RunSettings(config.tool_mocks, config.seed, config.budget),
        )
        found: dict[_Example, EvalCaseResult] = {}
        async with service.keep_open():
            for eval_set_id in dict.fromkeys(one.eval_set_id for one in batch):
                request = InferenceRequest(
                    app_name=self._config.app_name,
                    eval_set_id=eval_set_id,
                    eval_case_ids=[one.eval_id for one in batch if one.eval_set_id == eval_set_id],
                    inference_config=InferenceConfig(),
                )
                async with Aclosing(service.perform_inference(request)) as stream:
                    inferences = [one async for one in stream]
                evaluate = EvaluateRequest(
                    inference_results=inferences,
                    evaluate_config=EvaluateConfig(
                        eval_metrics=get_eval_metrics_from_config(config)
                    ),
                )
                async with Aclosing(service.evaluate(evaluate)) as results:
                    async for result in results:
                        found[_Example(eval_set_id, result.eval_id)] = result
        return found


def with_instruction(agent: Any, instruction: str) -> Any:
    """Return an agent or App whose root agent has another instruction.

    Args:
      agent: the root agent, or an App.
      instruction: the instruction.
    """
    root = agent.root_agent if isinstance(agent, App) else agent
    changed = root.clone(update={"instruction": instruction})
    return agent.model_copy(update={"root_agent": changed}) if isinstance(agent, App) else changed


def _describe(result: EvalCaseResult) -> dict[str, Any]:
    """Return the turns of a case with what was expected, and the scores."""
    return {
        "error": result.error_message,
        "invocations": [
            {
                "actual": _describe_turn(one.actual_invocation),
                "expected": _describe_turn(one.expected_invocation),
                "metrics": {
                    metric.metric_name: [metric.score, metric.eval_status.name]
                    for metric in one.eval_metric_results
                },
            }
            for one in result.eval_metric_result_per_invocation
        ],
    }


def _describe_turn(turn: Invocation | None) -> dict[str, Any] | None:
    if turn is None:
        return None
    pairs = get_all_tool_calls_with_responses(turn.intermediate_data)
    return {
        "user": get_text_from_content(turn.user_content),
        "answer": get_text_from_content(turn.final_response),
        "tool_calls": [
            {
                "name": call.name,
                "args": call.args,
                "response": answer.response if answer is not None else None,
            }
            for call, answer in pairs
        ],
    }


async def optimize_instruction(
    agent: Any, sampler: SamplerConfig, optimizer: OptimizerConfig, sets: EvalSetsManager
) -> OptimizationResult:
    """Return a better instruction of a root agent; the agent is not changed. Its tools run, unless
    `tool_mocks` of the criteria answers.

    Args:
      agent: the root agent, or an App.
      sampler: the cases and the criteria.
      optimizer: the model and the limits.
      sets: the eval sets.

    Raises:
      InputValidationError: the agent's instruction is no text, a case does not exist, no case could
        be evaluated, or the model wrote no instruction.
      MissingExtraError: the extra `optimize` is not installed.
      ModelUnavailableError: there is no such model.
    """
    gepa = need("gepa", extra="optimize")
    root = agent.root_agent if isinstance(agent, App) else agent
    if not isinstance(root, LlmAgent) or not isinstance(root.instruction, str):
        raise InputValidationError(
            f"The instruction of {root.name!r} cannot be optimized: it has to be the text of an "
            "LlmAgent."
        )
    train = _list_examples(sets, sampler, sampler.train_eval_set, sampler.train_eval_case_ids)
    validation = train
    if sampler.validation_eval_set or sampler.validation_eval_case_ids:
        wanted = sampler.validation_eval_set or sampler.train_eval_set
        validation = _list_examples(sets, sampler, wanted, sampler.validation_eval_case_ids)
    calls = _LoopCalls(asyncio.get_running_loop())
    try:
        found: Any = await asyncio.to_thread(
            gepa.optimize,
            seed_candidate={PROMPT: root.instruction},
            trainset=train,
            valset=validation,
            adapter=_CaseAdapter(agent, sampler, sets, calls),
            reflection_lm=_make_writer(optimizer, calls),
            max_metric_calls=optimizer.max_metric_calls,
            reflection_minibatch_size=optimizer.reflection_minibatch_size,
            run_dir=optimizer.run_dir,
            seed=sampler.eval_config.seed or 0,
        )
    except _StoppedError as stop:
        raise stop.__cause__ or stop from None
    finally:
        calls.stop()
    scores: list[float] = found.val_aggregate_scores
    return OptimizationResult(
        found.best_candidate[PROMPT], scores[int(found.best_idx)], scores[0], len(scores)
    )


def _make_writer(optimizer: OptimizerConfig, calls: _LoopCalls) -> Callable[[Any], str]:
    """Return a function that asks the model which writes instructions.

    It raises what the model raises; _StoppedError if the model has written nothing so far.
    """
    model = LLMRegistry.new_llm(optimizer.optimizer_model)

    async def ask(prompt: Any) -> str:
        text = prompt if isinstance(prompt, str) else json.dumps(prompt, default=str)
        request = LlmRequest(
            model=optimizer.optimizer_model,
            contents=[types.Content(role="user", parts=[types.Part(text=text)])],
            config=optimizer.model_configuration.model_copy(deep=True),
        )
        answer, reason = "", "its answer is empty"
        async with Aclosing(model.generate_content_async(request)) as responses:
            async for response in responses:
                if not response.partial:
                    answer = get_text_from_content(response.content) or ""
                    if response.error_code:
                        reason = f"{response.error_code}: {response.error_message or ''}"
        if not answer.strip():
            raise ModelAnswerError(reason)
        return answer

    has_written = False

    def write(prompt: Any) -> str:
        nonlocal has_written
        try:
            answer = calls.run(ask(prompt))
        except Exception as error:  # boundary: GEPA tries again
            if has_written:
                raise
            raise _StoppedError from InputValidationError(
                f"The model {optimizer.optimizer_model!r} wrote no instruction: "
                f"{type(error).__name__}: {error}"
            )
        has_written = True
        return answer

    return write


def _list_examples(
    sets: EvalSetsManager, sampler: SamplerConfig, eval_set_id: str, wanted: list[str] | None
) -> list[_Example]:
    eval_set = sets.get_eval_set(sampler.app_name, eval_set_id)
    if eval_set is None:
        raise InputValidationError(
            f"There is no eval set {eval_set_id!r} of the app {sampler.app_name!r}."
        )
    known = [case.eval_id for case in eval_set.eval_cases]
    missing = [one for one in wanted or () if one not in known]
    if missing:
        raise InputValidationError(f"The eval set {eval_set_id!r} has no case {missing[0]!r}.")
    chosen = wanted or known
    if not chosen:
        raise InputValidationError(f"The eval set {eval_set_id!r} has no cases.")
    return [_Example(eval_set_id, one) for one in chosen]

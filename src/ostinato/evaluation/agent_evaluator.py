"""AgentEvaluator: evaluation in tests; it raises AssertionError with all failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import _clock
from .._log import get_logger
from .._shared_files import replace_file
from ..agents.base_agent import BaseAgent
from ..agents.node_agent import as_agent
from ..apps.app import App
from ..context.node import BaseNode
from ..errors import InputValidationError
from ..hosting.agent_modules import load_module_agent
from .case_report import describe_failures, format_details
from .case_runner import RunSettings, choose_agent
from .eval_case import SessionInput
from .eval_config import (
    EvalConfig,
    get_eval_metrics_from_config,
    get_evaluation_criteria_or_default,
)
from .eval_metrics import BaseCriterion, PrebuiltMetrics
from .eval_set import EvalSet
from .evaluation_run import EvaluationPlan, EvaluationRun, run_evaluation
from .in_memory_eval_sets_manager import InMemoryEvalSetsManager
from .json_file import parse_json, read_json_record, read_text
from .local_eval_service import LocalEvalService
from .local_eval_sets_manager import format_eval_set, parse_eval_set
from .metric_evaluator_registry import make_registry
from .simulation.user_simulator_provider import UserSimulatorProvider

logger = get_logger(__name__)

NUM_RUNS = 2

TOOL_TRAJECTORY_SCORE_KEY = PrebuiltMetrics.TOOL_TRAJECTORY_AVG_SCORE.value
RESPONSE_EVALUATION_SCORE_KEY = PrebuiltMetrics.RESPONSE_EVALUATION_SCORE.value
RESPONSE_MATCH_SCORE_KEY = PrebuiltMetrics.RESPONSE_MATCH_SCORE.value
SAFETY_V1_KEY = PrebuiltMetrics.SAFETY_V1.value

ALLOWED_CRITERIA = [
    TOOL_TRAJECTORY_SCORE_KEY,
    RESPONSE_EVALUATION_SCORE_KEY,
    RESPONSE_MATCH_SCORE_KEY,
    SAFETY_V1_KEY,
]

QUERY_COLUMN = "query"
REFERENCE_COLUMN = "reference"
EXPECTED_TOOL_USE_COLUMN = "expected_tool_use"

_TEST_FILE = ".test.json"
_CONFIG_FILE = "test_config.json"
_APP = "test_app"


def load_json(file_path: str) -> Any:
    """Return the value in a JSON file.

    Args:
      file_path: the file.

    Raises:
      InputValidationError: it is not JSON.
    """
    return parse_json(read_text(Path(file_path)), file_path)


class AgentEvaluator:
    """Evaluates agents in tests."""

    @staticmethod
    def find_config_for_test_file(test_file: str) -> EvalConfig:
        """Return the config in `test_config.json` beside a test file, or the default one.

        Args:
          test_file: path of the test file.

        Raises:
          InputValidationError: the config is not valid.
        """
        return get_evaluation_criteria_or_default(str(Path(test_file).parent / _CONFIG_FILE))

    @staticmethod
    async def evaluate_eval_set(
        agent_module: Any,
        eval_set: EvalSet,
        criteria: dict[str, float] | None = None,
        eval_config: EvalConfig | None = None,
        num_runs: int = NUM_RUNS,
        agent_name: str | None = None,
        print_detailed_results: bool = True,
    ) -> None:
        """Evaluate an agent with an eval set.

        Args:
          agent_module: dotted name of the agent's module; or an agent, or an App.
          eval_set: the cases.
          criteria: thresholds by metric; deprecated, use `eval_config`.
          eval_config: criteria and settings.
          num_runs: how often each case runs; the mean score of all runs counts.
          agent_name: a sub-agent to evaluate in place of the root.
          print_detailed_results: print the turns of metrics that failed.

        Raises:
          AssertionError: metrics failed; the message lists all.
          ValueError: there is no config, or the agent cannot be found.
        """
        failures = await _evaluate_set(
            agent_module,
            eval_set,
            _choose_config(criteria, eval_config),
            num_runs,
            agent_name,
            print_detailed_results,
        )
        _raise_failures(failures, print_detailed_results)

    @staticmethod
    async def evaluate(
        agent_module: Any,
        eval_dataset_file_path_or_dir: str,
        num_runs: int = NUM_RUNS,
        agent_name: str | None = None,
        initial_session_file: str | None = None,
        print_detailed_results: bool = True,
    ) -> None:
        """Evaluate an agent with the test files of a folder, or with one file.

        Args:
          agent_module: dotted name of the agent's module; or an agent, or an App.
          eval_dataset_file_path_or_dir: a file, or a folder in which all `*.test.json` count.
          num_runs: how often each case runs; the mean score of all runs counts.
          agent_name: a sub-agent to evaluate in place of the root.
          initial_session_file: the session of all cases, for files in the old form only.
          print_detailed_results: print the turns of metrics that failed.

        Raises:
          AssertionError: metrics failed; the message lists those of all files.
          InputValidationError: a file is not valid, or the folder has no test file.
        """
        failures: list[str] = []
        for file in _find_test_files(Path(eval_dataset_file_path_or_dir)):
            config = AgentEvaluator.find_config_for_test_file(str(file))
            eval_set = _load_test_file(file, initial_session_file)
            failures += await _evaluate_set(
                agent_module, eval_set, config, num_runs, agent_name, print_detailed_results
            )
        _raise_failures(failures, print_detailed_results)

    @staticmethod
    def migrate_eval_data_to_new_schema(
        old_eval_data_file: str,
        new_eval_data_file: str,
        initial_session_file: str | None = None,
    ) -> None:
        """Write a test file in the old form anew as an EvalSet.

        Args:
          old_eval_data_file: the file in the old form.
          new_eval_data_file: the file to write.
          initial_session_file: the session of its cases.

        Raises:
          ValueError: a path is empty, or the old file is not valid.
        """
        if not old_eval_data_file or not new_eval_data_file:
            raise InputValidationError("Name both the old and the new file.")
        eval_set = _load_test_file(Path(old_eval_data_file), initial_session_file)
        replace_file(Path(new_eval_data_file), format_eval_set(eval_set))


def _choose_config(criteria: dict[str, float] | None, eval_config: EvalConfig | None) -> EvalConfig:
    if criteria:
        logger.warning("`criteria` is deprecated; give eval_config=EvalConfig(criteria=...).")
        return EvalConfig(
            criteria={name: BaseCriterion(threshold=value) for name, value in criteria.items()}
        )
    if eval_config is None:
        raise InputValidationError("evaluate_eval_set needs an eval_config.")
    return eval_config


async def _evaluate_set(
    agent_module: Any,
    eval_set: EvalSet,
    config: EvalConfig,
    num_runs: int,
    agent_name: str | None,
    print_detailed_results: bool,
) -> list[str]:
    """Return the failures of a set."""
    agent = await _load_agent(agent_module, agent_name)
    run = await evaluate_set(agent, eval_set, config, num_runs=num_runs)
    failures: list[str] = []
    for (_, eval_id), results in run.by_case().items():
        found = describe_failures(eval_id, results)
        failures += found
        if found and print_detailed_results:
            print(format_details(eval_id, results))
    return failures


async def evaluate_set(
    agent: Any, eval_set: EvalSet, config: EvalConfig, *, num_runs: int = 1
) -> EvaluationRun:
    """Run and evaluate all cases of a set.

    Args:
      agent: an agent, or an App.
      eval_set: the cases.
      config: criteria and settings.
      num_runs: how often each case runs.

    Raises:
      InputValidationError: two cases have the same id, or `num_runs` is below 1.
      NotFoundError: a metric does not exist.
    """
    if num_runs < 1:
        raise InputValidationError(f"num_runs must be 1 or more, not {num_runs}.")
    sets = InMemoryEvalSetsManager()
    sets.create_eval_set(_APP, eval_set.eval_set_id)
    for case in eval_set.eval_cases:
        sets.add_eval_case(_APP, eval_set.eval_set_id, case)
    metrics = get_eval_metrics_from_config(config)
    service = LocalEvalService(
        root_agent=agent,
        eval_sets_manager=sets,
        metric_evaluator_registry=make_registry(config),
        user_simulator_provider=UserSimulatorProvider(config.user_simulator_config),
        settings=RunSettings(config.tool_mocks, config.seed, config.budget),
    )
    plan = EvaluationPlan(_APP, {eval_set.eval_set_id: []}, metrics, num_runs)
    return await run_evaluation(service, plan)


async def _load_agent(agent_module: Any, agent_name: str | None) -> Any:
    found = agent_module
    if isinstance(agent_module, str):
        found = await load_module_agent(agent_module)
    elif isinstance(agent_module, BaseNode) and not isinstance(agent_module, BaseAgent):
        found = as_agent(agent_module)
    if not agent_name:
        return found
    return choose_agent(found.root_agent if isinstance(found, App) else found, agent_name)


def _find_test_files(place: Path) -> Iterator[Path]:
    """Yield the test files of a folder, or the file itself.

    Raises:
      InputValidationError: there is not one.
    """
    if not place.is_dir():
        if not place.is_file():
            raise InputValidationError(f"There is no file or folder {str(place)!r}.")
        yield place
        return
    files = sorted(path for path in place.rglob(f"*{_TEST_FILE}") if path.is_file())
    if not files:
        raise InputValidationError(f"The folder {str(place)!r} has no {_TEST_FILE} files.")
    yield from files


def _load_test_file(file: Path, initial_session_file: str | None) -> EvalSet:
    text = read_text(file)
    is_old = isinstance(parse_json(text, str(file)), list)
    eval_set = parse_eval_set(text, str(file), str(file) if is_old else _clock.new_id())
    if initial_session_file:
        if not is_old:
            raise InputValidationError(
                f"{file} holds an EvalSet; put the session into session_input of its cases, and "
                "leave initial_session_file out."
            )
        session = read_json_record(Path(initial_session_file), _InitialSession)
        for case in eval_set.eval_cases:
            case.session_input = session
    return eval_set


class _InitialSession(SessionInput):
    """The content of an initial session file; every field may be missing."""

    app_name: str = ""
    user_id: str = ""


def _raise_failures(failures: list[str], detailed: bool) -> None:
    if failures:
        hint = "" if detailed else " Set print_detailed_results=True to see the turns."
        listed = "\n".join(failures)
        number = "1 failure" if len(failures) == 1 else f"{len(failures)} failures"
        raise AssertionError(f"The evaluation has {number}.{hint}\n{listed}")

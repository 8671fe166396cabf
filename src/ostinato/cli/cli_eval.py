"""Functions of google-adk's `adk eval`, for programs that import them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .._absences import refuse_absent
from ..evaluation.case_report import format_details
from ..evaluation.eval_config import DEFAULT_CRITERIA as DEFAULT_CRITERIA
from ..evaluation.eval_metrics import Interval, MetricInfo, MetricValueInfo
from ..evaluation.eval_result import EvalCaseResult
from ..evaluation.eval_sets_manager import EvalSetsManager
from ..evaluation.storage import open_sets_manager
from ..hosting.agent_modules import find_reset_function
from ..hosting.loader import load_agent
from .eval_sets import parse_and_get_evals_to_run as parse_and_get_evals_to_run

TOOL_TRAJECTORY_SCORE_KEY = "tool_trajectory_avg_score"
RESPONSE_MATCH_SCORE_KEY = "response_match_score"
SAFETY_V1_KEY = "safety_v1"
FINAL_RESPONSE_MATCH_V2 = "final_response_match_v2"
RESPONSE_EVALUATION_SCORE_KEY = "response_evaluation_score"
EVAL_SESSION_ID_PREFIX = "___eval___session___"

__getattr__ = refuse_absent(__name__)


def get_default_metric_info(metric_name: str, description: str = "") -> MetricInfo:
    """Return the description of a metric with scores from 0 to 1.

    Args:
      metric_name: its name.
      description: what it measures.
    """
    return MetricInfo(
        metric_name=metric_name,
        description=description,
        metric_value_info=MetricValueInfo(interval=Interval(min_value=0.0, max_value=1.0)),
    )


def get_root_agent(agent_module_file_path: str) -> Any:
    """Return the root agent of a folder.

    Args:
      agent_module_file_path: the folder.

    Raises:
      SetupError: it has none.
    """
    return load_agent(agent_module_file_path).root


def try_get_reset_func(agent_module_file_path: str) -> Any:
    """Return the function `reset_data` of an agent's module, or None.

    Args:
      agent_module_file_path: the agent's folder.
    """
    loaded = load_agent(agent_module_file_path)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).resolve() == loaded.folder / "agent.py":
            return find_reset_function(module)
    return None


def get_eval_sets_manager(eval_storage_uri: str | None, agents_dir: str) -> EvalSetsManager:
    """Return the store of eval sets.

    Args:
      eval_storage_uri: `gs://BUCKET`; None for files.
      agents_dir: the folder of the agents.
    """
    return open_sets_manager(eval_storage_uri, agents_dir)


def pretty_print_eval_result(eval_result: EvalCaseResult) -> None:
    """Print a result with its turns.

    Args:
      eval_result: the result.
    """
    print(f"Eval set: {eval_result.eval_set_id}")
    print(format_details(eval_result.eval_id, [eval_result]))

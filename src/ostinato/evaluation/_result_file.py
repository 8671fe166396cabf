"""The JSON file of the results of one evaluation."""

from __future__ import annotations

import json

from .. import _clock
from .eval_base_model import ADK_230
from .eval_result import EvalCaseResult, EvalSetResult
from .json_file import parse_json, parse_record

RESULT_FILE_EXTENSION = ".evalset_result.json"


def create_eval_set_result(
    app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]
) -> EvalSetResult:
    """Return the results of an evaluation with an id of app, set and time.

    Args:
      app_name: the app.
      eval_set_id: the set.
      eval_case_results: one result for each run of a case.
    """
    now = _clock.now()
    result_id = f"{app_name}_{eval_set_id}_{now}"
    return EvalSetResult(
        eval_set_result_id=result_id,
        eval_set_result_name=result_id.replace("/", "_"),
        eval_set_id=eval_set_id,
        eval_case_results=eval_case_results,
        creation_timestamp=now,
    )


def format_eval_set_result(result: EvalSetResult) -> str:
    """Return results as JSON that google-adk 2.3.0 reads, too; other values become text.

    Fields without a value are left out: an older google-genai refuses the names of newer ones.
    """
    return result.model_dump_json(
        indent=2, exclude_none=True, context={"adk": ADK_230}, fallback=str
    )


def parse_eval_set_result(text: str, name: str) -> EvalSetResult:
    """Return the results in a JSON text; old files hold the JSON as a JSON string.

    Args:
      text: the text.
      name: what to call it in errors.

    Raises:
      InputValidationError: the text does not hold results.
    """
    value = parse_json(text, name)
    if isinstance(value, str):
        text = json.dumps(parse_json(value, name), indent=2)
    return parse_record(text, name, EvalSetResult)

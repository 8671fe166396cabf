"""LocalEvalSetResultsManager: results as files beside the agents."""

from __future__ import annotations

from pathlib import Path

from .._shared_files import replace_file
from ..errors import NotFoundError
from ._result_file import (
    RESULT_FILE_EXTENSION,
    create_eval_set_result,
    format_eval_set_result,
    parse_eval_set_result,
)
from ._stored_eval_sets import check_id
from .eval_result import EvalCaseResult, EvalSetResult
from .eval_set_results_manager import EvalSetResultsManager
from .json_file import read_text

_HISTORY = Path(".adk") / "eval_history"


class LocalEvalSetResultsManager(EvalSetResultsManager):
    """Results in files `<agents_dir>/<app>/.adk/eval_history/*.evalset_result.json`.

    Args:
      agents_dir: the folder of the agents.
    """

    def __init__(self, agents_dir: str) -> None:
        self._agents_dir = agents_dir

    def save_eval_set_result(
        self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]
    ) -> None:
        """Write the results of one evaluation of a set to a new file, which only its owner may
        read: it holds sessions."""
        result = create_eval_set_result(app_name, eval_set_id, eval_case_results)
        folder = self._locate_history(app_name)
        folder.mkdir(parents=True, exist_ok=True)
        name = (result.eval_set_result_name or result.eval_set_result_id).replace("\\", "_")
        path = folder / f"{name}{RESULT_FILE_EXTENSION}"
        replace_file(path, format_eval_set_result(result), private=True)

    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """Return the results in a file.

        Args:
          app_name: the app.
          eval_set_result_id: the name of the file without its extension.

        Raises:
          NotFoundError: there is no such file.
          InputValidationError: the file does not hold results.
        """
        name = f"{eval_set_result_id}{RESULT_FILE_EXTENSION}"
        path = self._locate_history(app_name) / name
        if "/" in name or "\\" in name or not path.is_file():
            raise NotFoundError(f"There is no eval set result {eval_set_result_id!r}.")
        return parse_eval_set_result(read_text(path), name)

    def list_eval_set_results(self, app_name: str) -> list[str]:
        """Return the names of the files without their extension, sorted."""
        folder = self._locate_history(app_name)
        if not folder.is_dir():
            return []
        return sorted(
            path.name.removesuffix(RESULT_FILE_EXTENSION)
            for path in folder.iterdir()
            if path.name.endswith(RESULT_FILE_EXTENSION)
        )

    def _locate_history(self, app_name: str) -> Path:
        check_id("app name", app_name, allow=".-")
        return Path(self._agents_dir) / app_name / _HISTORY

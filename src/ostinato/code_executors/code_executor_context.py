"""State of code execution in a session: files, failures and the execution id."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import MutableMapping
from typing import Any, cast

from .. import _clock
from ..sessions.state import State
from .code_execution_utils import File

_CONTEXT = "_code_execution_context"
_EXECUTION_ID = "execution_session_id"
_PROCESSED = "processed_input_files"
_INPUT_FILES = "_code_executor_input_files"
_ERROR_COUNTS = "_code_executor_error_counts"
_RESULTS = "_code_execution_results"


def read_executor_value(session_state: MutableMapping[str, Any], key: str) -> Any:
    """Return what an executor stored in a session, or None."""
    context: Any = session_state.get(_CONTEXT)
    return cast("dict[str, Any]", context).get(key) if isinstance(context, dict) else None


def store_executor_value(session_state: MutableMapping[str, Any], key: str, value: Any) -> None:
    """Store a value of an executor; it goes into the store with the result of the running code."""
    if not isinstance(session_state.get(_CONTEXT), dict):
        session_state[_CONTEXT] = {}
    session_state[_CONTEXT][key] = value  # the object that the run's CodeExecutorContext stores


class CodeExecutorContext:
    """View of code execution's keys in a session's state (Spec 1 §16, FEATURES rows 165, 168).

    The execution id and the names of explored files go into the store with the next result. Input
    files, error counts and results live in the session object only: the files are in the history
    anyway, the others belong to one invocation, and those of earlier ones are dropped.

    Args:
      session_state: state of the live session; values are replaced, never edited in place.
    """

    def __init__(self, session_state: State | MutableMapping[str, Any]) -> None:
        self._state = session_state
        self._context: dict[str, Any] = copy.deepcopy(self._read_state(_CONTEXT, {}))
        session_state[_CONTEXT] = self._context

    def get_state_delta(self) -> dict[str, Any]:
        """Return the state changes to store with the next result's event."""
        return {_CONTEXT: copy.deepcopy(self._context)}

    def get_execution_id(self) -> str | None:
        """Return the id of a stateful executor's state, or None."""
        return self._context.get(_EXECUTION_ID)

    def set_execution_id(self, session_id: str) -> None:
        """Set the id of a stateful executor's state."""
        self._context[_EXECUTION_ID] = session_id

    def get_processed_file_names(self) -> list[str]:
        """Return the names of the files that were explored."""
        return self._context.get(_PROCESSED, [])

    def add_processed_file_names(self, file_names: list[str]) -> None:
        """Note that files were explored."""
        self._context[_PROCESSED] = [*self.get_processed_file_names(), *file_names]

    def get_input_files(self) -> list[File]:
        """Return the files that code finds."""
        return [File(**stored) for stored in self._read_state(_INPUT_FILES, [])]

    def add_input_files(self, input_files: list[File]) -> None:
        """Add files that code is to find."""
        added = [dataclasses.asdict(file) for file in input_files]
        self._state[_INPUT_FILES] = [*self._read_state(_INPUT_FILES, []), *added]

    def clear_input_files(self) -> None:
        """Forget the files, and that they were explored."""
        if _INPUT_FILES in self._state:
            self._state[_INPUT_FILES] = []
        if _PROCESSED in self._context:
            self._context[_PROCESSED] = []

    def get_error_count(self, invocation_id: str) -> int:
        """Return how many runs of code have failed in a row in an invocation."""
        return self._read_state(_ERROR_COUNTS, {}).get(invocation_id, 0)

    def increment_error_count(self, invocation_id: str) -> None:
        """Count one failed run of code."""
        self._state[_ERROR_COUNTS] = {invocation_id: self.get_error_count(invocation_id) + 1}

    def reset_error_count(self, invocation_id: str) -> None:
        """Start counting again, after a run that did not fail."""
        counts = dict(self._read_state(_ERROR_COUNTS, {}))
        if counts.pop(invocation_id, None) is not None:
            self._state[_ERROR_COUNTS] = counts

    def update_code_execution_result(
        self, invocation_id: str, code: str, result_stdout: str, result_stderr: str
    ) -> None:
        """Note a run of code and what it printed."""
        entry = {
            "code": code,
            "result_stdout": result_stdout,
            "result_stderr": result_stderr,
            "timestamp": int(_clock.now()),
        }
        earlier = self._read_state(_RESULTS, {}).get(invocation_id, [])
        self._state[_RESULTS] = {invocation_id: [*earlier, entry]}

    def _read_state(self, key: str, default: Any) -> Any:
        value = self._state.get(key)
        return default if value is None else value

"""What code execution keeps in a session's state."""

from __future__ import annotations

import pytest

from ostinato.code_executors.code_execution_utils import File
from ostinato.code_executors.code_executor_context import CodeExecutorContext


def test_starts_empty_and_says_so() -> None:
    state: dict = {}
    context = CodeExecutorContext(state)
    assert state == {"_code_execution_context": {}} == context.get_state_delta()
    assert context.get_execution_id() is None
    assert context.get_processed_file_names() == []
    assert context.get_input_files() == []
    assert context.get_error_count("i") == 0


@pytest.mark.spec(165)
def test_id_and_explored_files_are_stored() -> None:
    stored = {"_code_execution_context": {"processed_input_files": ["a"]}}
    state = dict(stored)
    context = CodeExecutorContext(state)
    context.set_execution_id("E")
    context.add_processed_file_names(["b"])
    wanted = {"execution_session_id": "E", "processed_input_files": ["a", "b"]}
    assert context.get_state_delta() == {"_code_execution_context": wanted}
    assert state["_code_execution_context"] == wanted
    assert stored == {"_code_execution_context": {"processed_input_files": ["a"]}}
    assert context.get_state_delta() is not context.get_state_delta()


@pytest.mark.spec(165)
def test_input_files_stay_in_the_live_session() -> None:
    state: dict = {}
    context = CodeExecutorContext(state)
    files = [File("n.csv", "eA==", "text/csv"), File("m", b"y")]
    context.add_input_files(files[:1])
    context.add_input_files(files[1:])
    context.add_processed_file_names(["n.csv"])
    assert CodeExecutorContext(state).get_input_files() == files
    assert "_code_executor_input_files" not in context.get_state_delta()
    context.clear_input_files()
    assert context.get_input_files() == []
    assert context.get_processed_file_names() == []


@pytest.mark.spec(168)
def test_failures_are_counted_for_one_invocation() -> None:
    state: dict = {}
    context = CodeExecutorContext(state)
    context.increment_error_count("i")
    context.increment_error_count("i")
    assert CodeExecutorContext(state).get_error_count("i") == 2
    context.reset_error_count("i")
    assert context.get_error_count("i") == 0
    context.reset_error_count("never seen")
    context.increment_error_count("j")
    assert state["_code_executor_error_counts"] == {"j": 1}


def test_results_of_earlier_invocations_are_dropped() -> None:
    state: dict = {}
    context = CodeExecutorContext(state)
    context.update_code_execution_result("i", "a", "out", "")
    context.update_code_execution_result("i", "b", "", "err")
    runs = state["_code_execution_results"]["i"]
    assert [run["code"] for run in runs] == ["a", "b"]
    assert runs[1]["result_stderr"] == "err" and runs[0]["result_stdout"] == "out"
    context.update_code_execution_result("j", "c", "", "")
    assert list(state["_code_execution_results"]) == ["j"]

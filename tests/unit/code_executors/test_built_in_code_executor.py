"""Gemini's own code execution: the tool in the request."""

from __future__ import annotations

import pytest

from ostinato import types
from ostinato.code_executors import BuiltInCodeExecutor
from ostinato.code_executors.code_execution_utils import CodeExecutionInput
from ostinato.models.llm_request import LlmRequest

from .kit import NO_CONTEXT

GOOD = [
    "gemini-2.0-flash",
    "gemini-2.5-pro",
    "models/gemini-3-pro",
    "projects/p/locations/l/publishers/google/models/gemini-2.0-flash",
    "gemini-10-ultra",
    "gemini-flash-latest",
    "gemini-flash-early-exp",
]
BAD = ["gemini-1.5-pro", "gemini-pro", "gpt-4o", "not-gemini-2", "", None]


@pytest.mark.spec(166)
@pytest.mark.parametrize("model", GOOD)
def test_tool_is_added_behind_the_others(model: str) -> None:
    search = types.Tool(google_search=types.GoogleSearch())
    request = LlmRequest(model=model, config=types.GenerateContentConfig(tools=[search]))
    BuiltInCodeExecutor().process_llm_request(request)
    assert request.config.tools == [
        search,
        types.Tool(code_execution=types.ToolCodeExecution()),
    ]


@pytest.mark.spec(166)
@pytest.mark.parametrize("model", BAD)
def test_other_models_are_refused(model: str | None) -> None:
    with pytest.raises(ValueError, match="not supported for model"):
        BuiltInCodeExecutor().process_llm_request(LlmRequest(model=model))


@pytest.mark.parametrize("model", BAD)
def test_any_model_counts_while_the_check_of_names_is_disabled(
    model: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADK_DISABLE_GEMINI_MODEL_ID_CHECK", "true")
    request = LlmRequest(model=model)
    BuiltInCodeExecutor().process_llm_request(request)
    assert request.config.tools == [types.Tool(code_execution=types.ToolCodeExecution())]


def test_runs_no_code_itself() -> None:
    with pytest.raises(NotImplementedError, match="UnsafeLocalCodeExecutor"):
        BuiltInCodeExecutor().execute_code(NO_CONTEXT, CodeExecutionInput("1"))

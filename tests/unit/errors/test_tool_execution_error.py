"""ToolExecutionError carries its message and kind; the caller's errors carry their message."""

from __future__ import annotations

import json

import pytest

from ostinato.errors import CallerError
from ostinato.errors.already_exists_error import AlreadyExistsError
from ostinato.errors.input_validation_error import InputValidationError
from ostinato.errors.not_found_error import NotFoundError
from ostinato.errors.session_not_found_error import SessionNotFoundError
from ostinato.errors.tool_execution_error import ToolErrorType, ToolExecutionError


@pytest.mark.parametrize(
    ("given", "kept"), [(ToolErrorType.NOT_FOUND, "NOT_FOUND"), ("ODD", "ODD"), (None, None)]
)
def test_its_kind_is_text(given: ToolErrorType | str | None, kept: str | None) -> None:
    error = ToolExecutionError("no such thing", given)
    assert (str(error), error.message, error.error_type) == ("no such thing", "no such thing", kept)


def test_a_kind_is_json() -> None:
    assert json.dumps([ToolErrorType.NOT_FOUND]) == '["NOT_FOUND"]'
    assert ToolErrorType.NOT_FOUND == "NOT_FOUND"
    assert str(ToolErrorType.NOT_FOUND) == "ToolErrorType.NOT_FOUND"


@pytest.mark.parametrize(
    "kind", [AlreadyExistsError, InputValidationError, NotFoundError, SessionNotFoundError]
)
def test_a_callers_error_has_a_message(kind: type[CallerError]) -> None:
    assert kind("a is b").message == "a is b" and str(kind(message="c")) == "c"
    assert str(kind()) == kind().message != ""

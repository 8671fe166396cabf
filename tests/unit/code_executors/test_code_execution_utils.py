"""Code and results as parts of contents."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.code_executors.base_code_executor import BaseCodeExecutor
from ostinato.code_executors.code_execution_utils import (
    CodeExecutionResult,
    CodeExecutionUtils,
    File,
)
from tests.support.optionals import parts_of

DELIMITERS: list[tuple[str, str]] = BaseCodeExecutor.model_fields["code_block_delimiters"].default
RESULT_DELIMITERS = ("```tool_output\n", "\n```")


def text(value: str, **fields: Any) -> types.Part:
    return types.Part(text=value, **fields)


def code(value: str) -> types.Part:
    return CodeExecutionUtils.build_executable_code_part(value)


def result(value: str) -> types.Part:
    return types.Part.from_code_execution_result(outcome=types.Outcome.OUTCOME_OK, output=value)


def call() -> types.Part:
    return types.Part.from_function_call(name="f", args={})


PRINT = "```python\nprint(1)\n```"


@pytest.mark.spec(167)
@pytest.mark.parametrize(
    ("parts", "found", "left"),
    [
        ([text("hello")], None, [text("hello")]),
        (None, None, None),
        ([], None, []),
        ([text(PRINT)], "print(1)", [code("print(1)")]),
        (
            [text(f"a\n{PRINT}\nb ```tool_code\nprint(2)\n``` c")],
            "print(1)",
            [text("a\n"), code("print(1)")],
        ),
        (
            [text("a ```tool_code\nx\n``` " + PRINT)],
            "x",
            [text("a "), code("x")],
        ),
        ([text("a ```python\nprint(1)\n")], None, [text("a ```python\nprint(1)\n")]),
        ([text("a ```py\nx\n```")], None, [text("a ```py\nx\n```")]),
        ([text("a ```python\n\n``` b " + PRINT)], "print(1)", ...),
        ([text("a ```python\npri"), text("nt(1)\n``` b")], "pri\nnt(1)", ...),
        ([text("a"), text(PRINT), text("b")], "print(1)", [text("a\n"), code("print(1)")]),
        (
            [text("hm", thought=True), text("a " + PRINT)],
            "print(1)",
            [text("hm", thought=True), text("a "), code("print(1)")],
        ),
        (
            [text("plan " + PRINT, thought=True), text("a")],
            "print(1)",
            [text("plan ", thought=True), code("print(1)")],
        ),
        ([text("a"), code("c()"), text("b")], "c()", [text("a"), code("c()")]),
        ([text(PRINT), code("c()")], "c()", [text(PRINT), code("c()")]),
        ([code("c()"), result("3")], None, [code("c()"), result("3")]),
        ([code("c()"), result("3"), text("b " + PRINT)], "print(1)", ...),
        ([text("a " + PRINT), call()], "print(1)", [text("a "), code("print(1)")]),
    ],
)
def test_first_code_is_found_and_what_follows_it_dropped(parts, found, left) -> None:
    content = types.Content(role="model", parts=parts)
    assert CodeExecutionUtils.extract_code_and_truncate_content(content, DELIMITERS) == found
    if left is not ...:
        assert content.parts == left
    elif found is not None:
        assert parts_of(content)[-1] == code(found)


def test_parts_of_a_content_are_not_edited() -> None:
    part = text("a " + PRINT)
    CodeExecutionUtils.extract_code_and_truncate_content(
        types.Content(parts=[part]), [("```python\n", "\n```")]
    )
    assert part.text == "a " + PRINT


def test_no_delimiters_no_block() -> None:
    content = types.Content(parts=[text(PRINT)])
    assert CodeExecutionUtils.extract_code_and_truncate_content(content, []) is None


@pytest.mark.spec(167)
@pytest.mark.parametrize(
    ("ended", "outcome", "output"),
    [
        (CodeExecutionResult(), "OUTCOME_OK", "Code execution result:\n\n"),
        (CodeExecutionResult(stdout="3\n"), "OUTCOME_OK", "Code execution result:\n3\n\n"),
        (CodeExecutionResult(stdout="3", stderr="e"), "OUTCOME_FAILED", "e"),
        (
            CodeExecutionResult(output_files=[File("a.txt", "eA=="), File("b", b"y")]),
            "OUTCOME_OK",
            "Saved artifacts:\n`a.txt`,`b`",
        ),
        (
            CodeExecutionResult(stdout="3\n", output_files=[File("a.txt", "eA==")]),
            "OUTCOME_OK",
            "Code execution result:\n3\n\n\n\nSaved artifacts:\n`a.txt`",
        ),
    ],
)
def test_result_part(ended: CodeExecutionResult, outcome: str, output: str) -> None:
    part = CodeExecutionUtils.build_code_execution_result_part(ended)
    assert part.to_json_dict() == {"code_execution_result": {"outcome": outcome, "output": output}}


@pytest.mark.spec(167)
@pytest.mark.parametrize(
    ("parts", "role", "texts"),
    [
        ([], "model", []),
        ([text("t"), code("c")], "model", ["t", "```tool_code\nc\n```"]),
        ([code("c")], "model", ["```tool_code\nc\n```"]),
        ([code("c"), text("t")], "model", [None, "t"]),
        ([result("3")], "user", ["```tool_output\n3\n```"]),
        ([result("")], "user", [""]),
        ([text("t"), result("3")], "model", ["t", None]),
        ([types.Part(executable_code=types.ExecutableCode())], "model", [""]),
    ],
)
def test_code_and_results_become_text(parts, role, texts) -> None:
    content = types.Content(role="model", parts=parts)
    CodeExecutionUtils.convert_code_execution_parts(content, DELIMITERS[0], RESULT_DELIMITERS)
    assert content.role == role
    assert [part.text for part in parts_of(content)] == texts


def test_encoded_file_content() -> None:
    assert CodeExecutionUtils.get_encoded_file_content(b"hello") == b"aGVsbG8="
    assert CodeExecutionUtils.get_encoded_file_content(b"aGVsbG8=") == b"aGVsbG8="
    assert CodeExecutionUtils.get_encoded_file_content(b"") == b""


def test_file_bytes() -> None:
    assert File("a", b"x").read_bytes() == b"x"
    assert File("a", "eA==").read_bytes() == b"x"
    with pytest.raises(ValueError, match=r"'a\.txt'.*base64"):
        File("a.txt", "plain text!").read_bytes()

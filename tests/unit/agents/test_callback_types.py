"""What pyright says about tools and callbacks: it passes right ones and finds wrong ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

RIGHT = """
from typing import Any

from ostinato import Agent, types
from ostinato.agents.callback_context import CallbackContext
from ostinato.models import LlmRequest, LlmResponse
from ostinato.tools import BaseTool, ToolContext


def plain(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    return None


async def waiting(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    return None


def any_arguments(**kwargs: Any) -> None:
    return None


def before_tool(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, str]:
    return {}


async def greet(callback_context: CallbackContext) -> types.Content:
    return types.Content()


def add(a: int, b: int) -> int:
    return a + b


agent = Agent(
    name="desk",
    tools=[add],
    before_agent_callback=greet,
    before_model_callback=[plain, waiting, any_arguments],
    after_model_callback=any_arguments,
    before_tool_callback=before_tool,
    on_tool_error_callback=None,
)
"""

WRONG = """
from ostinato import Agent
from ostinato.agents.callback_context import CallbackContext
from ostinato.models import LlmRequest


def wrong_answer(callback_context: CallbackContext, llm_request: LlmRequest) -> int:
    return 1


def wrong_name(context: CallbackContext, llm_request: LlmRequest) -> None: ...


Agent(name="a", tools=[1])
Agent(name="b", before_model_callback=wrong_answer)
Agent(name="c", before_model_callback=wrong_name)
Agent(name="d", after_tool_callback=[wrong_name])
Agent(name="e", before_agent_callback="greet")
Agent(name="f", instructions="typo")
"""


def check(folder: Path, text: str) -> list[str]:
    """Return the lines of a program that pyright refuses in strict mode."""
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    settings = {
        "include": ["program.py"],
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT / "src")],
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = text.splitlines()
    wrong = sorted({one["range"]["start"]["line"] for one in found if one["severity"] == "error"})
    return [lines[number] for number in wrong]


@pytest.mark.service
def test_right_tools_and_callbacks_pass(tmp_path: Path) -> None:
    assert check(tmp_path, RIGHT) == []


@pytest.mark.service
def test_each_wrong_one_is_named(tmp_path: Path) -> None:
    wrong = [line for line in WRONG.splitlines() if line.startswith("Agent(")]
    assert check(tmp_path, WRONG) == wrong

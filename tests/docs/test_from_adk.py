"""The page "From ADK" tells every deviation the tests allow and every part that is absent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostinato._absences import ABSENCES
from tests.golden.deviations import DEVIATIONS
from tests.surface.absences import DIFFERENCES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "from-adk.md"
# The modules that ask whether the program came through the alias, and what they change for it: the
# beginnings of rows of the table "What ends with the alias".
ALIAS_ONLY = {
    "agents/base_agent.py": ["Two agents of one name"],
    "apps/app.py": ["Two agents of one name"],
    "code_executors/_local_code_executor.py": ["`optimize_data_file=True`"],
    "compat/alias.py": [
        "Plain `def` tools",
        "Contents of a request",
        "Names of loggers",
        "`theirs ==",
        "`isinstance(ours",
    ],
    "execution/context_factory.py": ["A message with an unknown"],
    "execution/invocation_runner.py": ["A run without message"],
    "execution/routing/agent_choice.py": ["An answer in an app that is not resumable"],
    "flows/llm_flows/functions.py": ["Siblings of a tool"],
    "flows/llm_flows/model_call/output_check.py": ["Output that breaks the schema"],
    "models/google_llm.py": ["`Gemini.api_client`"],
    "models/provider_llm.py": ["Errors of a model"],
    "models/providers.py": ["`openai/...`"],
    "plugins/logging_plugin.py": ["`LoggingPlugin`"],
    "plugins/multimodal_tool_results_plugin.py": ["`MultimodalToolResultsPlugin`"],
    "sessions/in_memory_session_service.py": ["`InMemorySessionService.list_sessions`"],
    "sessions/state.py": ["Values of the state"],
    "tools/agent_tool.py": ["`AgentTool` whose agent asks", "`AgentTool` without"],
    "tools/function_tool.py": ["A tool's arguments"],
    "tools/skills/skill_toolset.py": ["`SkillToolset`"],
    "workflow/graph_run.py": ["A route that no edge takes"],
    "workflow/values.py": ["A node's value"],
}


def plain(text: str) -> str:
    """Text without code quotes and line breaks, so that only its words count."""
    return re.sub(r"\s+", " ", text.replace("`", ""))


@pytest.fixture(scope="module")
def page() -> str:
    return plain(PAGE.read_text(encoding="utf-8"))


def test_every_deviation_of_the_golden_traces_is_told(page: str) -> None:
    reasons = {deviation.reason for deviation in DEVIATIONS}
    assert len(reasons) > 5
    assert not [reason for reason in sorted(reasons) if plain(reason) not in page]


def test_every_other_way_of_the_surface_is_told(page: str) -> None:
    reasons = {difference.reason for difference in DIFFERENCES}
    assert reasons
    assert not [reason for reason in sorted(reasons) if plain(reason) not in page]


def test_every_part_that_is_absent_is_told_with_what_to_use(page: str) -> None:
    rows = {f"| {absence.part} | {absence.reason} {absence.instead} |" for absence in ABSENCES}
    assert not [row for row in sorted(rows) if plain(row) not in page]


def test_all_that_ends_with_the_alias_is_in_one_table() -> None:
    source = ROOT / "src" / "ostinato"
    asking = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if "follows_adk(" in path.read_text(encoding="utf-8")
    }
    assert asking - {"_adk_mode.py"} == set(ALIAS_ONLY)
    table = (
        PAGE.read_text(encoding="utf-8").split("## What ends with the alias")[1].split("\n## ")[0]
    )
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    told = {
        begin: [row for row in rows if row.startswith(f"| {begin}")] for begin in _list_beginnings()
    }
    assert not [begin for begin, found in told.items() if len(found) != 1]
    assert len(told) == len(rows)


def _list_beginnings() -> list[str]:
    return sorted({begin for beginnings in ALIAS_ONLY.values() for begin in beginnings})

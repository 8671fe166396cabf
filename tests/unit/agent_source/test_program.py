"""Programs of agents in YAML: their names, their form, and what they keep of the files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ostinato.agent_source.program import program_of
from ostinato.agents import LlmAgent
from ostinato.agents.config_agent_utils import from_config
from ostinato.code_executors import UnsafeLocalCodeExecutor
from ostinato.errors import AgentFileError, CodeReferenceError
from ostinato.planners import PlanReActPlanner
from tests.unit.agent_files.conftest import Write
from tests.unit.agent_files.conftest import write as write

MORE = """\
from ostinato.agents import BaseAgent
from ostinato.agents.base_agent_config import BaseAgentConfig
from ostinato.tools.base_toolset import BaseToolset

def look_up(number: int) -> dict:
    return {}

def leaf():
    return 1

class Config(BaseAgentConfig):
    model_config = {"extra": "forbid"}
    tone: str

class Own(BaseAgent):
    config_type = Config
    tone: str = ""

    @classmethod
    def _parse_config(cls, config, config_abs_path, kwargs):
        return {**kwargs, "tone": config.tone.upper()}

class Box(BaseToolset):
    @classmethod
    def from_config(cls, config, config_abs_path):
        box = cls()
        box.path, box.options = config_abs_path, config.model_dump()
        return box

    async def get_tools(self, readonly_context=None):
        return []
"""
EVERYTHING = """\
# yaml-language-server: $schema=agent.schema.json
# About the agent.
name: look_up
instruction: "It's a \\"desk\\"."
tools:
  - name: desk.tools.look_up
  - name: desk.more.look_up
  - name: desk.more.Box
    args: {class: 1, deep: [1, {two: null}], ratio: 0.5, "not a name": yes}
  - name: AgentTool
    args: {agent: {config_path: leaf.yaml}, include_plugins: false}
  - name: desk.more.leaf
# Two of the same file.
sub_agents:
  - config_path: leaf.yaml
  - config_path: own.yaml
output_schema: {name: desk.tools.Answer}
output_key: null
before_model_callbacks: []
generate_content_config:
  thinking_config: {thinking_level: HIGH, include_thoughts: true}
  response_modalities: [TEXT]
"""
LEAF = "name: leaf\ninstruction: i\n"
OWN = "agent_class: desk.more.Own\nname: own\ntone: soft\nsub_agents:\n- config_path: last.yaml\n"


def folder_of(write: Write) -> Path:
    path = write(EVERYTHING, leaf=LEAF, own=OWN, last=LEAF.replace("leaf", "last"))
    path.with_name("more.py").write_text(MORE, encoding="utf-8")
    return path


def run(path: Path, source: str) -> Any:
    module = ModuleType("desk.generated")
    module.__package__, module.__file__ = "desk", str(path.with_name("agent.py"))
    exec(source, vars(module))
    return module.root_agent


def test_everything_that_a_file_can_name(write: Write) -> None:
    path = folder_of(write)
    source = program_of(path)
    root = run(path, source)
    first, second, box, as_tool, third = root.tools
    assert (first.__module__, second.__module__, third()) == ("desk.tools", "desk.more", 1)
    assert Path(box.path) == path
    assert box.options == {"class": 1, "deep": [1, {"two": None}], "ratio": 0.5, "not a name": True}
    assert as_tool.agent.name == "leaf" and as_tool.include_plugins is False
    assert as_tool.agent is not root.sub_agents[0]
    own = root.sub_agents[1]
    assert (own.tone, own.parent_agent, own.sub_agents[0].name) == ("SOFT", root, "last")
    assert root.output_schema.__name__ == "Answer" and root.output_key is None
    assert root.generate_content_config.thinking_config.thinking_level == "HIGH"
    assert program_of(path) == source


MODES = """\
name: desk
instruction: i
mode: task
planner: {name: desk.more.PLAN}
code_executor: {name: desk.more.RUN}
"""
OBJECTS = """
from ostinato.code_executors import UnsafeLocalCodeExecutor
from ostinato.planners import PlanReActPlanner

PLAN, RUN = PlanReActPlanner(), UnsafeLocalCodeExecutor()
"""


def test_mode_planner_and_code_executor_are_written(write: Write) -> None:
    path = write(MODES)
    path.with_name("more.py").write_text(MORE + OBJECTS, encoding="utf-8")
    source = program_of(path)
    for line in ('mode="task"', "planner=PLAN", "code_executor=RUN"):
        assert f"    {line},\n" in source
    made, read = run(path, source), from_config(str(path))
    assert isinstance(read, LlmAgent)
    for agent in (made, read):
        assert agent.mode == "task"
        assert isinstance(agent.planner, PlanReActPlanner)
        assert isinstance(agent.code_executor, UnsafeLocalCodeExecutor)


@pytest.mark.parametrize("field", ["planner", "code_executor"])
def test_a_planner_or_code_executor_that_is_none_is_refused(write: Write, field: str) -> None:
    path = write(f"name: desk\ninstruction: i\n{field}: {{name: desk.tools.look_up}}\n")
    with pytest.raises(AgentFileError, match=field.replace("_", " ")):
        from_config(str(path))


def test_names_that_meet_are_told_apart(write: Write) -> None:
    source = program_of(folder_of(write))
    assert "from .more import look_up as more_look_up\n" in source
    assert "from .tools import Answer, look_up\n" in source
    assert "\nleaf = LlmAgent(" in source and "\nleaf_2 = LlmAgent(" in source
    assert "from .more import leaf as more_leaf\n" in source


def test_comments_above_fields_go_over(write: Write) -> None:
    source = program_of(folder_of(write))
    assert "\n# About the agent.\nroot_agent = LlmAgent(" in source
    assert "\n    # Two of the same file.\n    sub_agents=[" in source
    assert "yaml-language-server" not in source


def test_elsewhere_modules_have_whole_names(write: Write, tmp_path: Path) -> None:
    source = program_of(folder_of(write), tmp_path / "out" / "agent.py")
    assert "from desk.tools import Answer, look_up\n" in source
    assert 'ROOT_AGENT_YAML = str(Path(__file__).parent / "../desk/root_agent.yaml")' in source


def test_what_cannot_be_read_cannot_be_written(write: Write) -> None:
    with pytest.raises(CodeReferenceError, match=r"line 4, tools\[0\]\.name"):
        program_of(write("name: a\ninstruction: i\ntools:\n- name: os.system\n"))
    allowed = program_of(
        write("name: a\ninstruction: i\ntools:\n- name: json.loads\n"), allow_code_from=["json"]
    )
    assert "from json import loads\n" in allowed
    with pytest.raises(AgentFileError, match="no Python source"):
        program_of(write("name: a\ninstruction: i\ntools:\n- name: BaseTool\n"
                         "  args: {name: 2020-01-01, description: d}\n"),
                   allow_code_from=["ostinato.tools"])  # fmt: skip
    with pytest.raises(AgentFileError, match="refers back to itself"):
        program_of(write("agent_class: LoopAgent\nname: a\nsub_agents:\n"
                         "- config_path: root_agent.yaml\n"))  # fmt: skip


def test_the_form_is_that_of_ruff(write: Write, tmp_path: Path) -> None:
    path = folder_of(write)
    out = tmp_path / "written"
    out.mkdir()
    for number, file in enumerate([path, path.with_name("own.yaml")]):
        (out / f"{number}.py").write_text(program_of(file), encoding="utf-8")
    for command in (["format", "--check"], ["check", "--select", "I,F"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", str(out)],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

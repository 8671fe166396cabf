"""Agents made of YAML files, and what is said of files that cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent, SequentialAgent, config_agent_utils
from ostinato.agents.agent_config import AgentConfig, agent_config_discriminator
from ostinato.agents.common_configs import AgentRefConfig, CodeConfig
from ostinato.agents.config_agent_utils import from_config
from ostinato.agents.llm_agent_config import LlmAgentConfig
from ostinato.agents.loop_agent_config import LoopAgentConfig
from ostinato.errors import (
    AgentConfigError,
    AgentFileError,
    AgentFileNotFoundError,
    CodeReferenceError,
)
from ostinato.tools import AgentTool, ExampleTool, FunctionTool
from ostinato.tools.tool_configs import ToolArgsConfig
from tests.agent_files.conftest import Write
from tests.agent_files.conftest import write as write

LEAF = "name: leaf\ninstruction: i\n"


def llm(path: Path, **options: Any) -> LlmAgent:
    agent = from_config(path, **options)
    assert isinstance(agent, LlmAgent)
    return agent


def refused(path: Path) -> AgentFileError:
    with pytest.raises(AgentFileError) as caught:
        from_config(path)
    return caught.value


def test_sub_agents_by_file_have_files_of_their_own(write: Write) -> None:
    root = from_config(
        write("agent_class: SequentialAgent\nname: a\nsub_agents:\n- config_path: leaf.yaml\n"
              "- config_path: ./b.yaml\n", leaf=LEAF, b="name: b\ninstruction: i\nsub_agents:\n"
              "- config_path: leaf.yaml\n")
    )  # fmt: skip
    assert isinstance(root, SequentialAgent)
    assert [one.name for one in root.sub_agents] == ["leaf", "b"]
    assert root.sub_agents[1].sub_agents[0].parent_agent is root.sub_agents[1]


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        ("name: a\ninstruction: i\ncolour: red\n", 3, "colour", "no such field"),
        ("name: a\n", 1, "instruction", "required"),
        ("name: a\ninstruction: i\ninclude_contents: some\n", 3, "include_contents", "'default'"),
        ("name: a b\ninstruction: i\n", 1, "name", "identifier"),
        ("name: user\ninstruction: i\n", 1, "name", "reserved"),
        ("name: a\ninstruction: i\nmodel_code: {name: desk.tools.number}\n", 3, "model_code",
         "BaseLlm"),
        ("name: a\ninstruction: i\ntools: [look_up]\n", 3, "tools[0]", "ToolConfig"),
        ("name: a\ninstruction: i\ntools:\n- name: nothing\n", 4, "tools[0].name", "no tool"),
        ("name: a\ninstruction: i\ntools:\n- name: desk.tools.number\n", 4, "tools[0]", "no tool"),
        ("name: a\ninstruction: i\ntools:\n- name: google_search\n  args: {a: 1}\n", 4, "tools[0]",
         "takes no args"),
        ("name: a\ninstruction: i\ntools:\n- name: FunctionTool\n  args: {f: 1}\n", 5,
         "tools[0].args.f", "takes no argument 'f'"),
        ("name: a\ninstruction: i\ntools:\n- name: AgentTool\n  args:\n    agent:\n"
         "      config_path: no.yaml\n", 7, "tools[0].args.agent.config_path", "no file 'no.yaml'"),
        ("name: a\ninstruction: i\ntools:\n- name: BaseTool\n", 4, "tools[0].args", "TypeError"),
        ("name: a\ninstruction: i\nbefore_agent_callbacks:\n- name: desk.tools.number\n", 4,
         "before_agent_callbacks[0]", "no function"),
        ("agent_class: [a]\nname: a\n", 1, "agent_class", "name of a class"),
        ("agent_class: Desk\nname: a\n", 1, "agent_class", "no agent class 'Desk'"),
        ("agent_class: desk.tools.Answer\nname: a\n", 1, "agent_class", "no class of agents"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- {}\n", 4, "sub_agents[0]",
         "exactly one"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- code: desk.tools.look_up\n", 4,
         "sub_agents[0].code", "a function or class, not an agent"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: root_agent.yaml\n", 4,
         "sub_agents[0].config_path", "circle"),
        ("name: a\ninstruction: i\nsub_agents:\n- config_path: leaf.yaml\n"
         "- config_path: leaf.yaml\n", 3, "sub_agents", "unique"),
    ],
)  # fmt: skip
def test_a_fault_names_its_place(write: Write, text: str, line: int, field: str, says: str) -> None:
    error = refused(write(text, leaf=LEAF))
    assert (error.file, error.line, error.field) == ("desk/root_agent.yaml", line, field)
    assert str(error).startswith(f"desk/root_agent.yaml, line {line}, {field}: ")
    assert says in str(error)
    assert isinstance(error, AgentConfigError) and isinstance(error, ValueError)


def test_every_fault_of_a_file_is_told(write: Write) -> None:
    error = refused(write("instruction: 3\ncolour: red\ntaste: sweet\n"))
    assert str(error).splitlines() == [
        "desk/root_agent.yaml, line 1, name: the required field `name` is missing.",
        "desk/root_agent.yaml, line 1, instruction: Input should be a valid string.",
        "desk/root_agent.yaml, line 2, colour: there is no such field here; check its spelling.",
        "desk/root_agent.yaml, line 3, taste: there is no such field here; check its spelling.",
    ]


def test_a_fault_in_a_sub_agents_file_names_that_file(write: Write) -> None:
    root = "agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: leaf.yaml\n"
    error = refused(write(root, leaf=LEAF + "colour: red\n"))
    assert (error.file, error.line, error.field) == ("desk/leaf.yaml", 3, "colour")


def test_code_that_may_not_be_named(write: Write) -> None:
    path = write("name: a\ninstruction: i\nafter_tool_callbacks:\n  - name: json.loads\n")
    error = refused(path)
    assert isinstance(error, CodeReferenceError)
    assert (error.line, error.field) == (4, "after_tool_callbacks[0].name")
    assert llm(path, allow_code_from=["json"]).canonical_after_tool_callbacks == [json.loads]


def test_the_rules_hold_for_sub_agents_and_what_tools_are_made_of(write: Write) -> None:
    leaf = "name: leaf\ninstruction: i\ntools:\n- name: FunctionTool\n  args: {func: os.system}\n"
    error = refused(
        write("agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: leaf.yaml\n", leaf=leaf)
    )
    assert isinstance(error, CodeReferenceError)
    assert (error.file, error.line, error.field) == ("desk/leaf.yaml", 5, "tools[0].args.func")


def test_tools_of_any_class(write: Write) -> None:
    agent = llm(
        write("name: a\ninstruction: i\ntools:\n- name: FunctionTool\n  args:\n"
              "    func: desk.tools.look_up\n    require_confirmation: true\n"
              "- name: AgentTool\n  args: {agent: {config_path: leaf.yaml}}\n"
              "- name: ExampleTool\n  args: {examples: [{input: {parts: [{text: a}]}, output: []}]}"
              "\n- name: desk.tools.look_up\n", leaf=LEAF)
    )  # fmt: skip
    function, as_tool, example, plain = agent.tools
    assert isinstance(function, FunctionTool) and function.name == "look_up"
    assert isinstance(as_tool, AgentTool) and as_tool.name == "leaf"
    assert isinstance(example, ExampleTool)
    assert plain("x") == {"item": "x"}


def test_a_folder_whose_package_cannot_be_imported(write: Write) -> None:
    path = write(LEAF)
    path.with_name("__init__.py").write_text("1 / 0\n", encoding="utf-8")
    assert "desk/__init__.py cannot be imported: ZeroDivisionError" in str(refused(path))


def test_a_folder_whose_name_is_no_identifier(tmp_path: Path) -> None:
    folder = tmp_path / "front-desk"
    folder.mkdir()
    (folder / "tools.py").write_text("def look_up(): ...\n", encoding="utf-8")
    file = folder / "root_agent.yaml"
    file.write_text("name: a\ninstruction: i\ntools: [{name: front_desk.tools.look_up}]\n", "utf-8")
    assert llm(file).tools[0].__name__ == "look_up"


def test_what_no_file_says_of_an_own_class(write: Write) -> None:
    path = write("agent_class: desk.own.Own\nname: a\nparent_agent: b\n")
    path.with_name("own.py").write_text(
        "from ostinato.agents import BaseAgent\nclass Own(BaseAgent): ...\n", encoding="utf-8"
    )
    assert refused(path).field == "parent_agent"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentFileNotFoundError):
        from_config(tmp_path / "nowhere.yaml")


def test_in_a_program_any_name_goes(write: Write) -> None:
    assert config_agent_utils.resolve_code_reference(CodeConfig(name="json.loads")) is json.loads
    assert config_agent_utils.resolve_fully_qualified_name("json.loads") is json.loads
    assert config_agent_utils.resolve_callbacks([CodeConfig(name="json.loads")]) == [json.loads]
    with pytest.raises(CodeReferenceError):
        config_agent_utils.resolve_code_reference(CodeConfig(name="json.nothing"))
    with pytest.raises(ValueError, match="needs a `name`"):
        config_agent_utils.resolve_code_reference(CodeConfig(name=""))
    path = write(LEAF)
    found = config_agent_utils.resolve_agent_reference(
        AgentRefConfig(config_path="root_agent.yaml"), str(path)
    )
    assert found.name == "leaf"


def test_agents_of_settings_that_a_program_made() -> None:
    config = LlmAgentConfig(
        name="a", instruction="i", before_model_callbacks=[CodeConfig(name="json.loads")]
    )
    agent = LlmAgent.from_config(config, "/nowhere/a.yaml")
    assert agent.canonical_before_model_callbacks == [json.loads]
    config = LlmAgentConfig(name="a", instruction="i", sub_agents=[AgentRefConfig(code="a.b")])
    with pytest.raises(ValueError, match="where a file is read"):
        LlmAgent.from_config(config, "/nowhere/a.yaml")
    with pytest.raises(AgentConfigError, match="where a file is read"):
        AgentTool.from_config(ToolArgsConfig.model_validate({"agent": {"code": "a.b"}}), "a.yaml")


def test_any_kind_of_settings() -> None:
    loop = AgentConfig.model_validate(
        {"agent_class": "LoopAgent", "name": "a", "max_iterations": 2}
    )
    assert isinstance(loop.root, LoopAgentConfig)
    assert isinstance(
        AgentConfig.model_validate({"name": "a", "instruction": "i"}).root, LlmAgentConfig
    )
    assert agent_config_discriminator({"agent_class": "desk.tools.Own"}) == "BaseAgent"
    assert agent_config_discriminator(loop.root) == "LoopAgent"
    with pytest.raises(ValueError, match="Invalid agent config"):
        agent_config_discriminator(3)

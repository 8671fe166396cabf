"""Agents made of YAML files, and what is said of files that cannot be."""

from __future__ import annotations

import json
import sys
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
from ostinato.tools import AgentTool, ExampleTool, ExecuteBashTool, FunctionTool
from ostinato.tools.tool_configs import ToolArgsConfig
from tests.unit.agent_files.conftest import Write
from tests.unit.agent_files.conftest import write as write

pytestmark = pytest.mark.long

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
        ("name: a\ninstruction: i\ntools:\n- name: BaseTool\n", 4, "tools[0].name", "not among"),
        ("name: a\ninstruction: i\ntools:\n- name: ExecuteBashTool\n", 4, "tools[0].name",
         "--allow-code-from ostinato.tools.ExecuteBashTool"),
        ("name: a\ninstruction: i\nbefore_agent_callbacks:\n"
         "- name: google.adk.utils.yaml_utils.load_yaml_file\n", 4,
         "before_agent_callbacks[0].name", "not among"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: ../out.yaml\n", 4,
         "sub_agents[0].config_path", "leads out of the agent's folder"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: /etc/passwd\n", 4,
         "sub_agents[0].config_path", "leads out of the agent's folder"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: \"a\\0b\"\n", 4,
         "sub_agents[0].config_path", "not a valid path"),
        ("name: a\ninstruction: i\nbefore_agent_callbacks:\n- name: desk.tools.number\n", 4,
         "before_agent_callbacks[0]", "is not a function"),
        ("agent_class: [a]\nname: a\n", 1, "agent_class", "name of a class"),
        ("agent_class: Desk\nname: a\n", 1, "agent_class", "no agent class 'Desk'"),
        ("agent_class: desk.tools.Answer\nname: a\n", 1, "agent_class", "not an agent class"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- {}\n", 4, "sub_agents[0]",
         "exactly one"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- code: desk.tools.look_up\n", 4,
         "sub_agents[0].code", "a function or class, not an agent"),
        ("agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: root_agent.yaml\n", 4,
         "sub_agents[0].config_path", "refers back to itself"),
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
    tools: list[Any] = agent.tools
    function, as_tool, example, plain = tools
    assert isinstance(function, FunctionTool) and function.name == "look_up"
    assert isinstance(as_tool, AgentTool) and as_tool.name == "leaf"
    assert isinstance(example, ExampleTool)
    assert plain("x") == {"item": "x"}


@pytest.mark.parametrize(
    "option",
    ["base_url: https://elsewhere.example", "baseUrl: https://elsewhere.example",
     "extra_body: {api_base: https://elsewhere.example}", "api_version: ../../x"],
)  # fmt: skip
def test_no_file_sends_the_providers_key_elsewhere(write: Write, option: str) -> None:
    said = "name: a\ninstruction: i\ngenerate_content_config:\n  http_options: {%s}\n"
    error = refused(write(said % option))
    assert "requests carry the provider's key" in str(error)
    assert error.line == 4
    config = llm(write(said % "timeout: 5, headers: {x-a: b}")).generate_content_config
    assert config is not None and config.http_options is not None
    assert config.http_options.timeout == 5


def test_the_host_permits_a_powerful_tool(write: Write) -> None:
    path = write("name: a\ninstruction: i\ntools:\n- name: ExecuteBashTool\n")
    agent = llm(path, allow_code_from=["ostinato.tools.ExecuteBashTool"])
    assert isinstance(agent.tools[0], ExecuteBashTool)


@pytest.mark.skipif(sys.platform == "win32", reason="makes symbolic links")
def test_files_of_sub_agents_stay_inside_the_folder(write: Write, tmp_path: Path) -> None:
    secret = "hunter2: [unclosed\n"
    (tmp_path / "out.yaml").write_text(secret, encoding="utf-8")
    said = "agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: {}\n"
    path = write("")
    (path.parent / "link.yaml").symlink_to(tmp_path / "out.yaml")
    (path.parent / "up").symlink_to(tmp_path)
    (path.parent / "loop.yaml").symlink_to("loop.yaml")
    absolute = tmp_path / "out.yaml"
    for place in ("../out.yaml", "link.yaml", "up/out.yaml", absolute, "sub/../../out.yaml"):
        error = refused(write(said.format(place)))
        assert "leads out of the agent's folder" in str(error)
        assert "hunter2" not in str(error)
    assert refused(write(said.format("loop.yaml"))).field == "sub_agents[0].config_path"
    missing = refused(write(said.format("../nothing.yaml")))
    assert "leads out of the agent's folder" in str(missing), "whether it exists is not told"


@pytest.mark.skipif(sys.platform == "win32", reason="makes symbolic links")
def test_links_inside_the_folder_are_followed(write: Write) -> None:
    path = write("agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: link.yaml\n")
    data = path.parent / "..data"
    data.mkdir()
    (data / "leaf.yaml").write_text(LEAF, encoding="utf-8")
    path.with_name("link.yaml").symlink_to("..data/leaf.yaml")
    assert [one.name for one in from_config(path).sub_agents] == ["leaf"]


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
    with pytest.raises(ValueError, match=r"only config_agent_utils\.from_config"):
        LlmAgent.from_config(config, "/nowhere/a.yaml")
    with pytest.raises(AgentConfigError, match=r"where a file is read"):
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


def test_files_that_name_files_are_bounded(write: Write) -> None:
    def level(below: str) -> str:
        named = f"- name: AgentTool\n  args: {{agent: {{config_path: {below}}}}}\n"
        return f"name: a\ninstruction: i\ntools:\n{named * 10}"

    others = {f"l{number}": level(f"l{number + 1}.yaml") for number in range(8)}
    error = refused(write(level("l0.yaml"), **others, l8=LEAF))
    assert "the files name each other more than 500 times" in str(error)


def test_fields_of_all_files_are_bounded(write: Write) -> None:
    labels = "".join(f"    k{number}: v\n" for number in range(6_000))
    large = f"{LEAF}generate_content_config:\n  labels:\n{labels}"
    named = "- config_path: large.yaml\n" * 20
    error = refused(
        write(f"agent_class: SequentialAgent\nname: a\nsub_agents:\n{named}", large=large)
    )
    assert "more than 100000 fields" in str(error)


def test_bytes_of_all_files_are_bounded(write: Write) -> None:
    padding = "#" + "x" * 990_000 + "\n"
    others = {f"l{number}": LEAF.replace("leaf", f"l{number}") + padding for number in range(4)}
    named = "".join(f"- config_path: {name}.yaml\n" for name in others)
    error = refused(write(f"agent_class: SequentialAgent\nname: a\nsub_agents:\n{named}", **others))
    assert "more than 2000000 bytes" in str(error)


def test_a_file_that_is_named_often_is_parsed_once(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yaml

    read: list[str] = []
    parse = yaml.parse

    def counted(text: str, **options: Any) -> Any:
        read.append(text)
        return parse(text, **options)

    monkeypatch.setattr(yaml, "parse", counted)
    tool = "- name: AgentTool\n  args: {agent: {config_path: leaf.yaml}}\n"
    agent = llm(write(f"name: a\ninstruction: i\ntools:\n{tool * 10}", leaf=LEAF))
    first, second = [one.agent for one in agent.tools if isinstance(one, AgentTool)][:2]
    assert first is not second and first.name == second.name == "leaf"
    assert read.count(LEAF) == 1


@pytest.mark.parametrize("value", ["!!bool abc", "!!timestamp abc", "!!int ''", "!!float x"])
def test_a_value_that_is_not_what_its_tag_says(write: Write, value: str) -> None:
    error = refused(write(f"name: a\ninstruction: i\ndescription: {value}\n"))
    assert (error.line, error.field) == (3, "description")
    assert "another type than its tag" in str(error)


@pytest.mark.parametrize(
    "path", ["a" * 5_000, "a/" * 200_000, "a" * 900, "a/" * 490 + "a.yaml", "../" * 300 + "a.yaml"]
)
def test_a_long_path_is_refused_without_folders_of_the_machine(
    write: Write, tmp_path: Path, path: str
) -> None:
    error = refused(write(f"agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: {path}\n"))
    assert error.line == 4 and len(str(error)) < 1_500
    assert str(tmp_path) not in str(error)


@pytest.mark.parametrize("text", ["a: *canary\n", "a: !canary b\n", "a: !canary!b c\n",
                                  "&canary a: 1\nb: &canary 2\nc: *canaries\n"])  # fmt: skip
def test_an_error_shows_no_content_of_another_file(write: Write, text: str) -> None:
    error = refused(write("agent_class: LoopAgent\nname: a\nsub_agents:\n- config_path: b.yaml\n",
                          b=text))  # fmt: skip
    assert "b.yaml, line" in str(error) and "canar" not in str(error)


@pytest.mark.parametrize("schema", ["number", "log", "environment"])
@pytest.mark.parametrize("field", ["output_schema", "input_schema"])
def test_a_schema_is_a_type(write: Write, schema: str, field: str) -> None:
    file = write(f"name: a\ninstruction: i\n{field}: {{name: desk.odd.{schema}}}\n")
    (file.parent / "odd.py").write_text(
        "import logging, os\nnumber = 3\nlog = logging.getLogger()\nenvironment = os.environ\n"
    )
    error = refused(file)
    assert error.line == 3 and "not a type" in str(error)


@pytest.mark.parametrize(
    "options", ["attempts: 999999999", "initial_delay: .inf", "max_delay: -1", "exp_base: .nan"]
)
def test_retries_of_a_file_are_bounded(write: Write, options: str) -> None:
    text = "name: a\ninstruction: i\ngenerate_content_config:\n  http_options:\n    retry_options: "
    error = refused(write(f"{text}{{{options}}}\n"))
    assert error.line == 5 and options.partition(":")[0] in str(error)

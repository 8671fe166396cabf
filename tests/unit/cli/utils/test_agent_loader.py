"""AgentLoader: the agents of a folder by name, as google-adk 2.3.0 finds them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.cli.utils.agent_loader import AgentLoader, is_single_agent_directory
from ostinato.cli.utils.base_agent_loader import BaseAgentLoader
from ostinato.compat import uninstall
from ostinato.workflow import Workflow

AGENT = "from ostinato.agents import Agent\nroot_agent = Agent(name='root', description='D')\n"
FILES = {
    "al_desk/__init__.py": "from . import agent\n",
    "al_desk/agent.py": AGENT,
    "al_lone.py": AGENT,
    "al_none/agent.py": "value = 1\n",
    "al_raises/agent.py": "raise LookupError('no shelf')\n",
    "al_imports/agent.py": "import al_not_installed\n",
    "al_flow/agent.py": (
        "from ostinato.workflow import START, Workflow\n"
        "def one():\n    return 1\n"
        "root_agent = Workflow(name='flow', edges=[(START, one)])\n"
    ),
    "al-dash/agent.py": AGENT,
    "al_hands/agent.py": (
        "from unittest.mock import Mock\n"
        "from ostinato.agents import Agent\n"
        "from ostinato.tools.computer_use.base_computer import BaseComputer\n"
        "from ostinato.tools.computer_use.computer_use_toolset import ComputerUseToolset\n"
        "tool = ComputerUseToolset(computer=Mock(spec=BaseComputer))\n"
        "hands = Agent(name='hands', tools=[tool])\n"
        "root_agent = Agent(name='boss', sub_agents=[hands])\n"
    ),
    "al_yaml/root_agent.yaml": "name: written\ninstruction: Help.\nmodel: offline\n",
    ".hidden/agent.py": AGENT,
    "__pycache__/x.py": "",
}


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Path]:
    """A folder of agents; its modules and paths are forgotten afterwards."""
    before, path = set(sys.modules), list(sys.path)
    for name, text in FILES.items():
        (tmp_path / "agents" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "agents" / name).write_text(text)
    yield tmp_path / "agents"
    uninstall()
    sys.path[:] = path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_it_lists_every_folder_whether_or_not_it_can_be_loaded(agents: Path) -> None:
    folders = [
        "al-dash", "al_desk", "al_flow", "al_hands", "al_imports", "al_none", "al_raises",
        "al_yaml"
    ]  # fmt: skip
    assert AgentLoader(str(agents)).list_agents() == folders
    with pytest.raises(FileNotFoundError):
        AgentLoader(agents / "nowhere").list_agents()


def test_the_detailed_list_leaves_out_what_cannot_be_loaded(
    agents: Path, caplog: pytest.LogCaptureFixture
) -> None:
    more = {"language": "python", "is_computer_use": False}
    assert AgentLoader(str(agents)).list_agents_detailed() == [
        {"name": "al_desk", "root_agent_name": "root", "description": "D", **more},
        {"name": "al_flow", "root_agent_name": "flow", "description": "", **more},
        {
            "name": "al_hands",
            "root_agent_name": "boss",
            "description": "",
            **more,
            "is_computer_use": True,
        },
        {
            "name": "al_yaml",
            "root_agent_name": "written",
            "description": "",
            "language": "yaml",
            "is_computer_use": False,
        },
    ]
    assert "Agent al_raises cannot be loaded: no shelf" in caplog.text


def test_a_workflow_and_a_file_are_agents_too(agents: Path) -> None:
    loader = AgentLoader(str(agents))
    flow = loader.load_agent("al_flow")
    assert isinstance(flow, Workflow) and flow is sys.modules["al_flow.agent"].root_agent
    lone = loader.load_agent("al_lone")
    loader.remove_agent_from_cache("al_lone")
    assert loader.load_agent("al_lone") is not lone


def test_the_folder_of_one_agent_holds_only_that(agents: Path) -> None:
    loader = AgentLoader(str(agents / "al_desk"))
    assert (loader.is_single_agent, loader.single_agent_name) == (True, "al_desk")
    assert loader.list_agents() == ["al_desk"]
    assert loader.load_agent("al_desk") is sys.modules["al_desk.agent"].root_agent
    with pytest.raises(ValueError, match="that of one agent, 'al_desk'"):
        loader.load_agent("al_flow")
    many = AgentLoader(str(agents))
    assert (many.is_single_agent, many.single_agent_name) == (False, None)
    assert is_single_agent_directory(agents / "al_none")
    assert not is_single_agent_directory(str(agents))


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("al_none", ValueError, "defines neither root_agent nor app"),
        ("al_gone", ValueError, "Agent not found: 'al_gone'"),
        ("../al_desk", ValueError, "Invalid agent name: '../al_desk'"),
        ("al-dash", ValueError, "rename the agent's folder"),
        ("", ValueError, "Invalid agent name: ''"),
        ("al_imports", ValueError, "imports 'al_not_installed', which is not installed"),
        ("al_imports", ModuleNotFoundError, "imports 'al_not_installed'"),
        ("al_raises", LookupError, "no shelf"),
    ],
)
def test_what_cannot_be_loaded_says_why(
    agents: Path, name: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        AgentLoader(str(agents)).load_agent(name)


def test_a_loader_of_ones_own_says_its_names() -> None:
    class Own(BaseAgentLoader):
        def list_agents(self) -> list[str]:
            return ["a"]

        def load_agent(self, agent_name: str) -> Workflow:
            raise ValueError(agent_name)

    unknown = {"display_name": None, "description": None, "type": None}
    assert Own().list_agents_detailed() == [{"name": "a", **unknown}]
    with pytest.raises(TypeError, match="abstract"):
        BaseAgentLoader()  # type: ignore[abstract]

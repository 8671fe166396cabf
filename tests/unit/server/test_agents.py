"""The folder of agents: one that cannot be loaded, changes, and no model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.server.conftest import Serve

GOOD = "from ostinato.agents import Agent\nroot_agent = Agent(name='{name}', model={model!r})\n"

DESCRIBED = "name: first\ninstruction: i\nsub_agents:\n- config_path: leaf.yaml\n"


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    for name, text in {
        "good": GOOD.format(name="first", model="offline"),
        "broken": "root_agent = Agent(\n",
        "empty": "x = 1\n",
        "_hidden": "",
    }.items():
        folder = tmp_path / "agents" / name
        folder.mkdir(parents=True)
        folder.joinpath("agent.py").write_text(text)
    tmp_path.joinpath("agents", "notes").mkdir()
    return tmp_path / "agents"


async def test_a_folder_with_an_error_tells_it_and_the_others_go_on(
    serve: Serve, agents: Path
) -> None:
    async with serve(agents=agents, reload=True) as served:
        assert (await served.ask("GET", "/list-apps")).json() == ["broken", "empty", "good"]
        assert (await served.ask("GET", "/apps/good/app-info")).is_success
        answer = await served.ask("GET", "/apps/broken/app-info")
        assert answer.status_code == 503
        assert answer.json()["error"]["type"] == "AgentLoadError"
        assert "agent.py, line 1" in answer.json()["detail"]
        assert str(agents) not in answer.text
        apps = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
        assert "never closed" in apps[0]["error"]
        assert "neither root_agent nor app" in apps[1]["error"]
        assert "error" not in apps[2]


async def test_the_detailed_list_tells_language_and_computer_use(
    serve: Serve, agents: Path
) -> None:
    for name, model in {"written": "offline", "torn": "[offline"}.items():
        agents.joinpath(name).mkdir()
        text = f"name: clerk\ninstruction: Help.\nmodel: {model}\n"
        agents.joinpath(name, "root_agent.yaml").write_text(text)
    agents.joinpath("hands").mkdir()
    agents.joinpath("hands", "agent.py").write_text(
        "from unittest.mock import Mock\n"
        "from ostinato.agents import Agent\n"
        "from ostinato.tools.computer_use.base_computer import BaseComputer\n"
        "from ostinato.tools.computer_use.computer_use_toolset import ComputerUseToolset\n"
        "tool = ComputerUseToolset(computer=Mock(spec=BaseComputer))\n"
        "root_agent = Agent(name='hands', model='offline', tools=[tool])\n"
    )
    async with serve(agents=agents) as served:
        apps = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
        assert {app["name"]: (app["language"], app["isComputerUse"]) for app in apps} == {
            "broken": ("python", False),
            "empty": ("python", False),
            "good": ("python", False),
            "hands": ("python", True),
            "torn": ("yaml", False),
            "written": ("yaml", False),
        }


async def test_in_production_the_log_has_the_reason(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents) as served:
        answer = await served.ask("GET", "/apps/broken/app-info")
        assert answer.status_code == 503
        assert "see the server" in answer.json()["detail"]


async def test_an_app_is_loaded_again_when_it_changes(serve: Serve, agents: Path) -> None:
    file = agents / "good" / "agent.py"
    async with serve(agents=agents, reload=True) as served:

        async def root() -> str:
            return (await served.ask("GET", "/apps/good/app-info")).json().get("rootAgentName", "")

        assert await root() == "first"
        file.write_text(GOOD.format(name="other", model="offline"))
        os.utime(file, ns=(1, 1))
        assert await root() == "other"
        file.write_text("root_agent = (")
        assert await root() == ""
        file.write_text(GOOD.format(name="third", model="offline"))
        assert await root() == "third"


async def test_an_app_in_yaml_is_loaded_again_when_its_files_change(
    serve: Serve, agents: Path
) -> None:
    file = agents / "described" / "root_agent.yaml"
    file.parent.mkdir()
    file.write_text(DESCRIBED)
    leaf = file.with_name("leaf.yaml")
    leaf.write_text("name: leaf\ninstruction: i\n")
    async with serve(agents=agents, reload=True) as served:

        async def root() -> str:
            return (await served.ask("GET", "/apps/described/app-info")).text

        assert '"first"' in await root() and '"leaf"' in await root()
        leaf.write_text("name: branch\ninstruction: i\n")
        assert '"branch"' in await root()
        leaf.write_text("name: branch\ninstruction: i\ncolour: red\n")
        told = await root()
        assert "described/leaf.yaml, line 3, colour" in told and str(agents) not in told
        leaf.write_text("name: other\ninstruction: i\n")
        assert '"other"' in await root()


async def test_yaml_names_code_that_the_host_allows(serve: Serve, agents: Path) -> None:
    folder = agents / "described"
    folder.mkdir()
    (folder / "root_agent.yaml").write_text("name: a\ninstruction: i\ntools:\n- name: json.loads\n")
    async with serve(agents=agents) as served:
        assert (await served.ask("GET", "/apps/described/app-info")).status_code == 503
    async with serve(agents=agents, allow_code_from=("json",)) as served:
        assert (await served.ask("GET", "/apps/described/app-info")).is_success


async def test_a_model_that_is_missing_is_told_and_never_replaced(
    serve: Serve, agents: Path
) -> None:
    agents.joinpath("good", "agent.py").write_text(GOOD.format(name="x", model="no-such-model"))
    async with serve(agents=agents) as served:
        sessions = "/apps/good/users/ann/sessions"
        await served.ask("POST", sessions, {"sessionId": "s"})
        message = {"role": "user", "parts": [{"text": "hi"}]}
        body = {"appName": "good", "userId": "ann", "sessionId": "s", "newMessage": message}
        answer = await served.ask("POST", "/run", body)
        assert answer.status_code == 503, answer.text
        assert answer.json()["error"]["type"] == "ModelUnavailableError"
        stream = await served.ask("POST", "/run_sse", body)
        assert '"error_type":"ModelUnavailableError"' in stream.text


async def test_a_folder_that_is_an_agent_is_the_only_app(serve: Serve, agents: Path) -> None:
    async with serve(agents=agents / "good") as served:
        assert (await served.ask("GET", "/list-apps")).json() == ["good"]

"""Loading agents: the layouts that are understood, and what is said about those that are not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ostinato.hosting.loader import load_agent
from ostinato.hosting.setup_error import SetupError
from tests.unit.cli.conftest import MakeAgent

AGENT = "from ostinato.agents import Agent\nroot_agent = Agent(name='x')\n"
APP = (
    "from ostinato.agents import Agent\nfrom ostinato.apps import App\n"
    "app = App(name='shop', root_agent=Agent(name='x'))\n"
)


def test_a_folder_with_agent_py(make_agent: MakeAgent) -> None:
    make_agent(AGENT)
    loaded = load_agent("desk")
    assert (loaded.app, loaded.root.name, loaded.app_name) == (None, "x", "desk")


def test_a_package_that_imports_its_agent_relatively(make_agent: MakeAgent) -> None:
    make_agent("from .words import NAME\n" + AGENT, __init__="from . import agent", words="NAME=1")
    assert load_agent("desk/").app_name == "desk"


def test_a_package_with_the_agent_in_its_init(tmp_path: Path) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk/__init__.py").write_text(AGENT, encoding="utf-8")
    assert load_agent("desk").root.name == "x"


def test_an_app_counts_before_a_root_agent(make_agent: MakeAgent) -> None:
    make_agent(APP + "root_agent = Agent(name='y')\n")
    loaded = load_agent("desk")
    assert loaded.app is not None
    assert (loaded.app_name, loaded.root.name) == ("shop", "x")


def test_something_else_called_app_is_passed_over(make_agent: MakeAgent) -> None:
    make_agent(AGENT + "app = object()\n")
    assert load_agent("desk").app is None


def test_a_file_and_its_neighbours(make_agent: MakeAgent) -> None:
    make_agent("", shop="import words\nfrom . import words as same\n" + AGENT, words="")
    assert load_agent("desk/shop.py").app_name == "shop"
    assert load_agent("desk/agent.py".replace("agent", "shop")).root.name == "x"


def test_the_file_agent_py_is_its_folder(make_agent: MakeAgent) -> None:
    make_agent(AGENT)
    assert load_agent("desk/agent.py").app_name == "desk"


def test_a_dotted_module(make_agent: MakeAgent) -> None:
    make_agent(AGENT, "firm/desk", __init__="")
    assert load_agent("firm.desk").app_name == "desk"
    assert load_agent("firm.desk.agent").app_name == "desk"


def test_a_package_inside_a_package(make_agent: MakeAgent, tmp_path: Path) -> None:
    make_agent("from .. import NAME\n" + AGENT, "firm/desk", __init__="")
    (tmp_path / "firm/__init__.py").write_text("NAME = 1\n", encoding="utf-8")
    assert load_agent("firm/desk").app_name == "desk"


@pytest.mark.parametrize("name", ["json", "rich", "my-desk", "v1.2"])
def test_names_that_other_modules_have_or_python_would_not_take(
    make_agent: MakeAgent, name: str
) -> None:
    make_agent("from . import words\n" + AGENT, name, __init__="from . import agent", words="")
    assert load_agent(name).app_name == name
    assert hasattr(sys.modules["json"], "dumps")


def test_folders_of_one_name_are_different_packages(tmp_path: Path) -> None:
    for name in ("one", "two", "three", "four"):
        folder = tmp_path / name / "same_name"
        folder.mkdir(parents=True)
        text = "from . import words\n" + AGENT.replace("'x'", "words.NAME")
        folder.joinpath("agent.py").write_text(text, encoding="utf-8")
        folder.joinpath("words.py").write_text(f"NAME = {name!r}", encoding="utf-8")
    for name in ("one", "two", "three", "four", "three", "one"):
        assert load_agent(str(tmp_path / name / "same_name")).root.name == name


def test_env_is_read_and_what_is_set_stays(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLI_TEST_KEPT", "old")
    monkeypatch.setenv("CLI_TEST_NEW", "")
    monkeypatch.delenv("CLI_TEST_NEW")
    folder = make_agent("import os\nKEY = os.environ['CLI_TEST_NEW']\n" + AGENT)
    (folder / ".env").write_text("CLI_TEST_NEW='secret one'\nCLI_TEST_KEPT=new\n", "utf-8")
    try:
        assert load_agent("desk").keys == ["CLI_TEST_NEW"]
        assert os.environ["CLI_TEST_KEPT"] == "old"
    finally:
        os.environ.pop("CLI_TEST_NEW", None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("root_agent = Agent(\nname", ["desk/agent.py, line 1", "never closed"]),
        ("import os\n", ["desk/agent.py defines neither root_agent nor app", "contains no agent"]),
        (
            "from ostinato.agents import Agent\nhelper = Agent(name='h')\n",
            ["Found instead: helper (LlmAgent)", "root_agent = helper"],
        ),
        ("root_agent = 'me'\n", ["has type builtins.str"]),
        ("def root_agent(): ...\n", ["the function root_agent", "Assign what it returns"]),
        ("import no_such_thing\n", ["line 1, imports 'no_such_thing'", "Install it"]),
        (
            "from google.adk.agents import Wombat\n",
            ["desk/agent.py, line 1, cannot be imported", "no Wombat in google.adk.agents"],
        ),
        (
            "from google.adk.runners import InMemoryRuner\n",
            ["desk/agent.py, line 1", "Did you mean InMemoryRunner"],
        ),
        ("x = 1\nx / 0\n", ["desk/agent.py, line 2, raised ZeroDivisionError: division by zero"]),
        (
            "from ostinato.agents import Agent\nroot_agent = Agent(name='a b')\n",
            ["line 2, raised ValidationError: LlmAgent: name: "],
        ),
    ],
)
def test_what_is_wrong_is_said(make_agent: MakeAgent, text: str, words: list[str]) -> None:
    make_agent(text)
    with pytest.raises(SetupError) as caught:
        load_agent("desk")
    assert caught.value.missing is False
    for word in words:
        assert word in caught.value.message


def test_a_path_that_is_not_there_gets_suggestions(make_agent: MakeAgent) -> None:
    make_agent(AGENT, "agents/weather")
    for path in ("weather", "agents/wether", "agents/weather.py"):
        with pytest.raises(SetupError) as caught:
            load_agent(path)
        assert caught.value.missing
        assert "agents/weather" in caught.value.message.replace(path, "", 1), path


def test_an_empty_place_gets_the_next_command(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in ("empty", "nowhere"):
        with pytest.raises(SetupError, match="ostinato create my_agent"):
            load_agent(path)


def test_an_unreadable_env_is_named(make_agent: MakeAgent) -> None:
    folder = make_agent(AGENT)
    (folder / ".env").write_text("KEY=1\nsecret value\n", "utf-8")
    with pytest.raises(SetupError, match=r"\.env cannot be read: line 2") as caught:
        load_agent("desk")
    assert "secret" not in caught.value.message

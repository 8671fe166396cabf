"""Loading agents that YAML files describe: which folders, which names, what is told."""

from __future__ import annotations

import pytest

from ostinato.hosting.loader import load_agent
from ostinato.hosting.setup_error import SetupError
from tests.unit.agent_files.conftest import Write
from tests.unit.agent_files.conftest import write as write

AGENT = "name: clerk\ninstruction: i\ntools:\n- name: desk.tools.look_up\n"


def test_a_folder_with_root_agent_yaml(write: Write) -> None:
    write(AGENT)
    loaded = load_agent("desk")
    assert (loaded.app, loaded.root.name, loaded.app_name) == (None, "clerk", "desk")


def test_a_folder_of_nothing_but_the_file(write: Write) -> None:
    folder = write("name: clerk\ninstruction: i\n").parent
    (folder / "__init__.py").unlink()
    (folder / "tools.py").unlink()
    assert load_agent("desk").root.name == "clerk"


def test_a_file(write: Write) -> None:
    write(AGENT, other=AGENT.replace("clerk", "other"))
    assert load_agent("desk/root_agent.yaml").app_name == "desk"
    loaded = load_agent("desk/other.yaml")
    assert (loaded.root.name, loaded.app_name) == ("other", "other")


def test_agent_py_counts_before_the_file(write: Write) -> None:
    folder = write(AGENT).parent
    (folder / "agent.py").write_text(
        "from ostinato.agents import Agent\nroot_agent = Agent(name='python')\n", encoding="utf-8"
    )
    assert load_agent("desk").root.name == "python"


def test_the_key_of_the_folder_is_read_first(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DESK_KEY", raising=False)
    (write(AGENT).parent / ".env").write_text("DESK_KEY=k\n", encoding="utf-8")
    assert load_agent("desk").keys == ["DESK_KEY"]


def test_a_file_that_cannot_be_is_told_with_its_place(write: Write) -> None:
    write(AGENT + "colour: red\n")
    with pytest.raises(SetupError, match=r"^desk/root_agent\.yaml, line 5, colour: ") as caught:
        load_agent("desk")
    assert not caught.value.missing


def test_code_of_other_modules_only_where_the_host_allows(write: Write) -> None:
    write("name: clerk\ninstruction: i\ntools:\n- name: json.loads\n")
    with pytest.raises(SetupError, match="may name"):
        load_agent("desk")
    assert load_agent("desk", ["json"]).root.name == "clerk"


def test_a_folder_without_an_agent_is_told_of_its_neighbours(write: Write) -> None:
    write(AGENT)
    with pytest.raises(SetupError, match="Did you mean desk"):
        load_agent("dest")

"""`ostinato create`: the folder it makes works at once, and nothing is overwritten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Ostinato


def test_what_it_makes_runs_with_the_command_it_shows(ostinato: Ostinato) -> None:
    done = ostinato("create", "my_agent")
    assert done.code == 0, done.err
    assert sorted(p.name for p in Path("my_agent").iterdir()) == [
        ".env.example",
        "README.md",
        "__init__.py",
        "agent.py",
    ]
    assert "offline stand-in" in done.out.splitlines()[0]
    assert done.out.splitlines()[-1] == '  ostinato run my_agent "What time is it in Tokyo?"'
    done = ostinato("run", "my_agent", "What time is it in Tokyo?")
    assert done.code == 0, done.err
    assert '● get_time(city="Tokyo")' in done.out
    assert re.search(r"^  In Tokyo it is \d\d:\d\d\.$", done.out, re.MULTILINE)


def test_the_model_can_be_named(ostinato: Ostinato) -> None:
    done = ostinato("create", "sub/my_agent", "--model", "offline")
    assert done.code == 0
    assert "stand-in" not in done.out
    assert 'model="offline"' in Path("sub/my_agent/agent.py").read_text(encoding="utf-8")
    assert ostinato("create", "other", "--model", 'x"y').code == 2
    assert not Path("other").exists()


def test_an_empty_folder_is_filled_and_a_full_one_refused(ostinato: Ostinato) -> None:
    Path("desk").mkdir()
    assert ostinato("create", "desk").code == 0
    before = Path("desk/agent.py").read_bytes()
    done = ostinato("create", "desk", "--model", "offline")
    assert done.code == 1
    assert "not empty" in done.err
    assert Path("desk/agent.py").read_bytes() == before
    Path("file").touch()
    assert "is not a folder" in ostinato("create", "file").err


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("9lives", "my_9lives"), ("my-agent", "my_agent"), ("class", "my_class"), ("user", "my_user")],
)
def test_names_that_no_agent_can_have(ostinato: Ostinato, name: str, suggestion: str) -> None:
    done = ostinato("create", name)
    assert done.code == 2
    assert f"How about {suggestion}?" in done.err
    assert not Path(name).exists()

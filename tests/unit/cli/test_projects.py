"""`ostinato create --template`: complete, formatted projects; it asks only at a terminal."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from ostinato.cli.create_options import TEMPLATES
from ostinato.cli.main import main
from tests.unit.cli.conftest import Ostinato

TERMINAL_TEMPLATES = [one for one in TEMPLATES if one != "service"]  # it needs fastapi


def create(ostinato: Ostinato, template: str, name: str = "desk") -> Path:
    """Create a project and return its folder."""
    done = ostinato("create", name, "--template", template)
    assert done.code == 0, done.err
    return Path(name)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_project_is_complete(ostinato: Ostinato, template: str) -> None:
    folder = create(ostinato, template)
    for file in ("README.md", "Dockerfile", ".dockerignore", ".gitignore", "tests/test_agent.py"):
        assert (folder / file).is_file(), file
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["name"] == "desk"
    ci = yaml.safe_load((folder / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = [step.get("run", "") for step in ci["jobs"]["check"]["steps"]]
    assert steps[-4:] == ["ruff check .", "ruff format --check .", "pyright", "pytest"]
    for path in filter(Path.is_file, folder.rglob("*")):
        text = path.read_text(encoding="utf-8")
        assert "@name@" not in text and "@project@" not in text, path
        if path.suffix == ".py":
            ast.parse(text)
        if path.suffix == ".json":
            json.loads(text)


def test_projects_are_formatted(ostinato: Ostinato) -> None:
    for template in TEMPLATES:
        create(ostinato, template, template.replace("-", "_").ljust(40, "x"))
        create(ostinato, template, "z" + template.replace("-", "")[:3])
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "."]
        done = subprocess.run(ruff, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("template", ["agent", "multi-agent", "workflow"])
def test_a_project_answers_the_question_it_shows(
    ostinato: Ostinato, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ostinato("create", "desk", "--template", template)
    shown = next(line for line in done.out.splitlines() if "  ostinato run" in line)
    question = shown.split('"')[1]
    monkeypatch.chdir("desk")
    done = ostinato("run", "agents/desk", question)
    assert done.code == 0, done.err
    expected = {"agent": "In Tokyo it is", "multi-agent": "shipped on Monday", "workflow": "Booked"}
    assert expected[template] in done.out


@pytest.mark.parametrize("name", ["json", "tests", "ostinato", "agents"])
def test_a_project_does_not_hide_a_package(ostinato: Ostinato, name: str) -> None:
    done = ostinato("create", name, "--template", "agent")
    assert done.code == 2
    assert f"How about my_{name}?" in done.err
    assert not Path(name).exists()
    assert "at most 40" in ostinato("create", "x" * 41, "--template", "agent").err


def test_a_full_folder_is_refused(ostinato: Ostinato) -> None:
    create(ostinato, "agent")
    done = ostinato("create", "desk", "--template", "agent")
    assert done.code == 1
    assert "not empty" in done.err


def test_without_a_terminal_a_missing_name_is_an_error_that_lists_the_arguments(
    ostinato: Ostinato,
) -> None:
    done = ostinato("create", stdin="desk\n1\n")
    assert done.code == 2
    for word in ("NAME", "--template", "--model", *TEMPLATES):
        assert word in done.err
    assert not Path("desk").exists()


class Terminal(io.StringIO):
    """A terminal at which somebody types."""

    def isatty(self) -> bool:
        return True


def answer(monkeypatch: pytest.MonkeyPatch, *lines: str) -> int:
    """Run `ostinato create` at a terminal with these answers; return the exit code."""
    monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    return main(["create"])


def test_at_a_terminal_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(monkeypatch, "", "desk", "none", "0", "99999999999", "3") == 0
    assert "Workflow" in Path("desk/agents/desk/agent.py").read_text(encoding="utf-8")
    assert answer(monkeypatch, "second", "") == 0
    assert "get_time" in Path("second/agents/second/agent.py").read_text(encoding="utf-8")


def test_the_end_of_the_input_creates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.listdir()
    assert answer(monkeypatch, "desk") == 2
    assert os.listdir() == before


@pytest.mark.service
@pytest.mark.parametrize("template", TERMINAL_TEMPLATES)
def test_the_tests_and_types_of_a_project_are_green(
    ostinato: Ostinato, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = create(ostinato, template)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    settings = ["-p", ".", "--pythonpath", sys.executable]
    for command in (["pytest", "-q", "-p", "no:cacheprovider"], ["pyright", *settings]):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout

"""Which code a file may name, and how its names are found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ostinato.agent_files.code_names import CodeNameError, CodeRules
from ostinato.agent_files.own_package import own_package
from ostinato.agents.config_agent_utils import rules_for
from tests.agent_files.conftest import Write


@pytest.fixture
def rules(write: Write) -> CodeRules:
    return rules_for(write("").parent)


def test_code_of_the_folder_and_of_ostinato(rules: CodeRules) -> None:
    from ostinato.tools import google_search

    assert rules.resolve("desk.tools.look_up")("tea") == {"item": "tea"}
    assert rules.resolve("ostinato.tools.google_search") is google_search
    assert rules.resolve("google.adk.tools.google_search") is google_search
    assert rules.resolve("google.adk.tools.google_search_tool.google_search") is google_search
    assert rules.resolve("desk.tools.Answer").__name__ == "Answer"
    assert rules.resolve("desk.tools.number") == 3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("os.system", "'os' is not one whose code a file may name"),
        ("subprocess.run", "'subprocess' is not one"),
        ("builtins.eval", "'builtins' is not one"),
        ("importlib.import_module", "'importlib' is not one"),
        ("shutil.rmtree", "'shutil' is not one"),
        ("desktop.tools.look_up", "--allow-code-from desktop"),
        ("ostinato._optional.need", "no public module"),
        ("google.adk._lazy.attach", "no public module"),
        ("ostinato.hosting.loader.import_module", "only imports"),
        ("desk.tools.run", "subprocess.run, which 'desk.tools' only imports"),
        ("desk.tools.os", "only imports"),
        ("desk.tools.look", "Did you mean 'look_up'"),
        ("desk.nowhere.look_up", "there is no module 'desk.nowhere'"),
        ("look_up", "no dotted name"),
        ("desk..look_up", "no dotted name"),
        ("desk.tools.look_up()", "no dotted name"),
        ("desk.tools. os", "no dotted name"),
    ],
)
def test_anything_else_is_refused(rules: CodeRules, name: str, says: str) -> None:
    with pytest.raises(CodeNameError) as caught:
        rules.resolve(name)
    assert says in str(caught.value)


def test_nothing_is_imported_that_is_not_allowed(rules: CodeRules) -> None:
    sys.modules.pop("antigravity", None)
    with pytest.raises(CodeNameError):
        rules.resolve("antigravity.geohash")
    assert "antigravity" not in sys.modules


def test_the_host_allows_modules_with_what_is_below(write: Write) -> None:
    rules = rules_for(write("").parent, ["json", "os.path"])
    assert rules.resolve("json.decoder.JSONDecoder").__name__ == "JSONDecoder"
    with pytest.raises(CodeNameError):
        rules.resolve("os.system")
    with pytest.raises(CodeNameError):
        rules.resolve("jsonschema.validate")


def test_modules_that_cannot_be_imported_say_why(write: Write, rules: CodeRules) -> None:
    folder = write("").parent
    (folder / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    (folder / "needy.py").write_text("import no_such_library\n", encoding="utf-8")
    with pytest.raises(CodeNameError, match="raised ZeroDivisionError"):
        rules.resolve("desk.broken.x")
    with pytest.raises(CodeNameError, match="imports 'no_such_library', which is not installed"):
        rules.resolve("desk.needy.x")


def test_a_folder_whose_name_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "json"
    folder.mkdir()
    (folder / "own.py").write_text("x = 1\n", encoding="utf-8")
    rules = rules_for(folder)
    try:
        assert rules.package == "json_agent" == own_package(folder)
        assert rules.resolve("json.own.x") == 1
        with pytest.raises(CodeNameError, match=r"no module 'json_agent\.decoder'"):
            rules.resolve("json.decoder.JSONDecoder")
    finally:
        sys.modules.pop("json_agent", None)
        sys.modules.pop("json_agent.own", None)


def test_a_package_that_cannot_be_imported_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "half"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('no')\n", encoding="utf-8")
    with pytest.raises(RuntimeError):
        own_package(folder)
    assert "half" not in sys.modules

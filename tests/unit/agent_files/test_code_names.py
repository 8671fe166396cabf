"""Which code a file may name, and how its names are found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ostinato.agent_files.code_names import ALLOWED_NAMES, CodeNameError, CodeRules
from ostinato.agent_files.own_package import own_package
from ostinato.agents.config_agent_utils import rules_for
from tests.unit.agent_files.conftest import Write

pytestmark = pytest.mark.long

POWERS = """\
from ostinato.tools import AgentTool, ExecuteBashTool
from ostinato.utils.yaml_utils import load_yaml_file

bash = ExecuteBashTool()
"""
FOREIGN = """\
from functools import cache, partial, wraps
from pydantic import ImportString
from yaml import Loader, unsafe_load
from yaml import safe_load

loads_yaml = partial(unsafe_load)
cached = cache(unsafe_load)
find = {}.get
answers = list[str]

@cache
def own(text: str) -> str:
    return text

def checked(function):
    @wraps(function)
    def call(text: str) -> str:
        return function(text)
    return call

own_too = checked(own)
"""


@pytest.fixture
def rules(write: Write) -> CodeRules:
    folder = write("").parent
    (folder / "powers.py").write_text(POWERS, encoding="utf-8")
    (folder / "foreign.py").write_text(FOREIGN, encoding="utf-8")
    return rules_for(folder)


def test_wrapped_code_of_the_folder(rules: CodeRules) -> None:
    assert rules.resolve("desk.foreign.own")("a") == "a"
    assert rules.resolve("desk.foreign.own_too")("a") == "a"
    assert rules.resolve("desk.foreign.answers") == list[str]


def test_the_host_permits_what_a_module_imports(rules: CodeRules) -> None:
    permitted = CodeRules(rules.folder, rules.package, ("yaml",))
    assert permitted.resolve("desk.foreign.safe_load")("a: 1") == {"a": 1}


def test_a_neighbour_that_is_imported_by_its_bare_name(
    rules: CodeRules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "desk" / "neighbour_of_desk.py").write_text("def look() -> str: return 'near'\n")
    (tmp_path / "desk" / "uses.py").write_text("from neighbour_of_desk import look\n")
    monkeypatch.syspath_prepend(str(tmp_path / "desk"))
    assert rules.resolve("desk.uses.look")() == "near"
    monkeypatch.delitem(sys.modules, "neighbour_of_desk")


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
        ("ostinato._optional.need", "not a public module"),
        ("google.adk._lazy.attach", "not a public module"),
        ("ostinato.hosting.loader.import_module", "not among the names of Ostinato"),
        (
            "ostinato.hosting.loader.load_agent",
            "--allow-code-from ostinato.hosting.loader.load_agent",
        ),
        ("google.adk.utils.yaml_utils.load_yaml_file", "not among the names of Ostinato"),
        ("ostinato.tools.ExecuteBashTool", "not among the names of Ostinato"),
        ("google.adk.tools.bash_tool.ExecuteBashTool", "not among the names of Ostinato"),
        ("ostinato.code_executors.UnsafeLocalCodeExecutor", "not among the names of Ostinato"),
        ("ostinato.agents.remote_a2a_agent.RemoteA2aAgent", "not among the names of Ostinato"),
        ("ostinato.agents.config_agent_utils.from_config", "not among the names of Ostinato"),
        ("ostinato.tools.google_serch", "Did you mean 'ostinato.tools.google_search'"),
        ("desk.powers.ExecuteBashTool", "not among the names of Ostinato"),
        ("desk.powers.load_yaml_file", "not among the names of Ostinato"),
        ("desk.tools.run", "subprocess.run, which 'desk.tools' only imports"),
        ("desk.tools.os", "may not name modules"),
        ("desk.tools.__dir__", "Python's own machinery"),
        ("desk.__init__.x", "Python's own machinery"),
        ("desk.foreign.unsafe_load", "--allow-code-from yaml"),
        ("desk.foreign.Loader", "--allow-code-from yaml"),
        ("desk.foreign.loads_yaml", "--allow-code-from yaml"),
        ("desk.foreign.cached", "--allow-code-from yaml"),
        ("desk.foreign.ImportString", "--allow-code-from pydantic"),
        ("desk.foreign.find", "'desk.foreign' only imports"),
        ("desk.tools.look", "Did you mean 'look_up'"),
        ("desk.nowhere.look_up", "there is no module 'desk.nowhere'"),
        ("look_up", "not a dotted name"),
        ("desk..look_up", "not a dotted name"),
        ("desk.tools.look_up()", "not a dotted name"),
        ("desk.tools. os", "not a dotted name"),
    ],
)
def test_anything_else_is_refused(rules: CodeRules, name: str, says: str) -> None:
    with pytest.raises(CodeNameError) as caught:
        rules.resolve(name)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", sorted(ALLOWED_NAMES))
def test_every_allowed_name_exists(rules: CodeRules, name: str) -> None:
    assert rules.resolve(name) is not None
    assert rules.resolve(name.replace("ostinato", "google.adk", 1)) is rules.resolve(name)


def test_no_allowed_name_runs_code_or_reads_files() -> None:
    powerful = ("bash", "executor", "yaml", "config_agent", "hosting", "loader", "a2a", "mcp")
    assert not [name for name in ALLOWED_NAMES if any(one in name.lower() for one in powerful)]


@pytest.mark.parametrize(
    "permission",
    ["ostinato.tools.ExecuteBashTool", "ostinato.tools", "google.adk.tools.ExecuteBashTool"],
)
def test_the_host_permits_powerful_names(write: Write, permission: str) -> None:
    rules = rules_for(write("").parent, [permission])
    assert rules.resolve("ostinato.tools.ExecuteBashTool").__name__ == "ExecuteBashTool"
    assert rules.resolve("google.adk.tools.ExecuteBashTool").__name__ == "ExecuteBashTool"
    with pytest.raises(CodeNameError):
        rules.resolve("ostinato.hosting.loader.load_agent")


def test_code_of_the_folder_may_use_powerful_names(rules: CodeRules) -> None:
    assert rules.resolve("desk.powers.bash").name == "execute_bash"
    assert rules.resolve("desk.powers.AgentTool").__name__ == "AgentTool"


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


def test_a_folder_reached_by_a_link_is_the_same_package(tmp_path: Path) -> None:
    folder, link = tmp_path / "linked_desk", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    try:
        assert own_package(folder) == own_package(link) == "linked_desk"
    finally:
        sys.modules.pop("linked_desk", None)


def test_a_package_that_cannot_be_imported_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "half"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('no')\n", encoding="utf-8")
    with pytest.raises(RuntimeError):
        own_package(folder)
    assert "half" not in sys.modules

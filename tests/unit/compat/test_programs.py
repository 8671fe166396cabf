"""ADK programs as users write them: unchanged, they print the same under the alias as on
google-adk 2.3.0, whose traces lie in `traces/`."""

import ast
import json
from pathlib import Path

import pytest

from tests.unit.compat.deviations import DEVIATIONS
from tests.unit.compat.interpreters import adk_python, run, without_google

pytestmark = pytest.mark.long

HERE = Path(__file__).resolve().parent
PLAY = str(HERE / "play.py")
TRACES = {path.stem: path.read_text(encoding="utf-8") for path in (HERE / "traces").glob("*.txt")}
PROGRAMS = sorted(p.stem for p in (HERE / "programs").glob("*.py") if p.stem != "printing")
_played: dict[str, dict[str, str]] = {}


def expected(name: str) -> str:
    """What a program has to print here: what google-adk printed, with the listed deviations."""
    text = TRACES[name]
    for deviation in DEVIATIONS:
        if deviation.program == name:
            text = deviation.apply(text)
    return text


def played(tmp_path_factory: pytest.TempPathFactory, genai: bool) -> dict[str, str]:
    """What all programs print under the alias, run once per test process."""
    key = "with google-genai" if genai else "without"
    if key not in _played:
        if genai:
            text = run(PLAY, "--alias")
        else:
            site = without_google(tmp_path_factory.mktemp("site") / "packages")
            text = run(PLAY, "--alias", path=(site,), bare=True)
        _played[key] = json.loads(text)
    return _played[key]


def test_every_program_has_a_trace() -> None:
    assert sorted(TRACES) == PROGRAMS
    assert len(PROGRAMS) >= 20


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_a_plain_adk_program(name: str) -> None:
    tree = ast.parse((HERE / "programs" / f"{name}.py").read_text(encoding="utf-8"))
    found = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert not [module for module in found if "ostinato" in str(module)]
    assert [module for module in found if str(module).startswith("google.adk")]


@pytest.mark.parametrize("genai", [True, False], ids=["google-genai", "alone"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_prints_what_it_prints_on_google_adk(
    name: str, genai: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert played(tmp_path_factory, genai)[name] == expected(name)


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda one: one.program)
def test_each_deviation_is_needed(
    deviation: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = getattr(deviation, "program", "")
    assert played(tmp_path_factory, True)[name] != TRACES[name]


@pytest.mark.service
def test_the_traces_are_what_google_adk_prints() -> None:
    assert json.loads(run(PLAY, python=adk_python(), warnings="ignore")) == TRACES


@pytest.mark.service
def test_the_alias_takes_the_name_where_google_adk_is_installed() -> None:
    printed = json.loads(run(PLAY, "--alias", "--force", python=adk_python()))
    assert printed == {name: expected(name) for name in PROGRAMS}


@pytest.mark.parametrize(
    "name", ["quick_start", pytest.param("sync_run", marks=pytest.mark.service)]
)
def test_the_command_runs_a_program(name: str) -> None:
    program = str(HERE / "programs" / f"{name}.py")
    assert run("-m", "ostinato.compat", program) == expected(name)

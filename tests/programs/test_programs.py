"""Programs and test files as users of google-adk write them: unchanged, they print here what they
print on google-adk 2.3.0, which is recorded in `recorded/`. Many print the whole session."""

import ast
import json
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.programs.deviations import DEVIATIONS, FAULTY
from tests.programs.play import NEEDS, PROGRAMS
from tests.programs.record import lend_pytest, play_on_google_adk, read_recorded
from tests.unit.compat.interpreters import adk_python, run, without_google
from tests.wire.environments import set_up

pytestmark = pytest.mark.long

HERE = Path(__file__).resolve().parent
PLAY = str(HERE / "play.py")
RECORDED = read_recorded()
NAMES = {path.stem for path in PROGRAMS}


def read_play(text: str) -> dict[str, list[str]]:
    """Return what `play.py` printed; it is the last line."""
    return json.loads(text.splitlines()[-1])


def expect(name: str) -> list[str]:
    """Return what a program has to print here: the recorded lines with the listed deviations."""
    text = "\n".join(RECORDED[name])
    for deviation in DEVIATIONS:
        if deviation.program == name:
            text = deviation.apply(text)
    return text.splitlines()


def list_problems(printed: dict[str, list[str]]) -> Iterator[str]:
    """Yield what is wrong with what the programs print here."""
    for name, lines in printed.items():
        wanted = expect(name)
        if name in FAULTY:
            if lines == wanted:
                yield f"{name} prints what it should: delete its entry in FAULTS"
        elif lines != wanted:
            yield "\n".join([name, *unified_diff(wanted, lines, "google-adk", "here", "", "", 1)])


def check(printed: dict[str, list[str]]) -> None:
    """Fail with all that is wrong with what the programs print here."""
    problems = list(list_problems(printed))
    assert not problems, "\n\n".join(problems)


def imports_of(path: Path) -> set[str]:
    return {
        str(node.module) if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }


def test_every_program_is_recorded_under_a_name_of_its_own() -> None:
    assert RECORDED.keys() == NAMES
    assert len(PROGRAMS) == len(NAMES) >= 100
    assert sum("show_session(" in path.read_text(encoding="utf-8") for path in PROGRAMS) >= 71
    assert {deviation.program for deviation in DEVIATIONS} | FAULTY | NEEDS.keys() <= NAMES


def test_the_programs_know_google_adk_only() -> None:
    for path in PROGRAMS:
        found = imports_of(path)
        assert not [module for module in found if module.startswith(("ostinato", "tests"))], path
        assert [module for module in found if module.startswith("google.")], path


def test_no_entry_repeats_what_is_recorded() -> None:
    for deviation in DEVIATIONS:
        assert deviation.recorded != deviation.ours and deviation.reason, deviation
        assert deviation.recorded in "\n".join(RECORDED[deviation.program]), deviation


def test_they_print_what_they_print_on_google_adk() -> None:
    printed = read_play(run(PLAY, "--alias"))
    assert NAMES - printed.keys() <= NEEDS.keys()
    check(printed)


def test_a_program_that_prints_otherwise_is_named() -> None:
    (problem,) = list_problems({"greeter": [*expect("greeter"), "more"]})
    assert problem.startswith("greeter") and "+more" in problem


@pytest.mark.service
def test_they_print_the_same_without_google_genai(tmp_path: Path) -> None:
    site = without_google(tmp_path / "site")
    printed = read_play(run(PLAY, "--alias", path=(site,), bare=True))
    assert NAMES - printed.keys() <= NEEDS.keys()
    check(printed)


@pytest.mark.service
def test_they_print_the_same_beside_what_google_adk_installs(tmp_path: Path) -> None:
    """fastapi is among it, so that no program is left out."""
    lent = lend_pytest(tmp_path)
    printed = read_play(
        run(PLAY, "--alias", "--force", python=adk_python(), path=(lent,), warnings="ignore")
    )
    assert printed.keys() == NAMES
    check(printed)


@pytest.mark.service
@pytest.mark.parametrize("environment", ["litellm", "genai2"])
def test_they_print_the_same_beside_other_packages(environment: str) -> None:
    """.venv has google-genai 3."""
    printed = read_play(run(PLAY, "--alias", python=str(set_up(environment))))
    assert NAMES - printed.keys() <= NEEDS.keys()
    check(printed)


@pytest.mark.service
def test_google_adk_prints_what_is_recorded() -> None:
    assert play_on_google_adk([]) == RECORDED

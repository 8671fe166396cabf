"""`ostinato generate`: what it writes, where, and what it refuses to lose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Ostinato

pytestmark = pytest.mark.long

FILE = "name: desk\nmodel: offline\ninstruction: Answer.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "root_agent.yaml").write_text(FILE, encoding="utf-8")
    return folder


def test_the_program_is_printed(ostinato: Ostinato, folder: Path) -> None:
    done = ostinato("generate", "desk")
    assert done.code == 0
    assert 'root_agent = LlmAgent(\n    name="desk",\n    model="offline",\n' in done.out
    assert ostinato("generate", "desk/root_agent.yaml").out == done.out


def test_what_is_written_runs_in_the_files_place(ostinato: Ostinato, folder: Path) -> None:
    done = ostinato("generate", "desk", "--out", "desk/agent.py")
    assert (done.code, done.out) == (0, "Wrote desk/agent.py.\n")
    (folder / "root_agent.yaml").unlink()
    assert ostinato("run", "desk", "Hello").code == 0


def test_only_what_it_wrote_is_written_over(ostinato: Ostinato, folder: Path) -> None:
    out = folder / "agent.py"
    out.write_text("precious = 1\n", encoding="utf-8")
    done = ostinato("generate", "desk", "--out", str(out))
    assert done.code == 1 and "--force" in done.err
    assert out.read_text(encoding="utf-8") == "precious = 1\n"
    assert ostinato("generate", "desk", "--out", str(out), "--force").code == 0
    assert ostinato("generate", "desk", "--out", str(out)).code == 0


def test_a_file_that_cannot_be_is_told_and_nothing_is_written(
    ostinato: Ostinato, folder: Path
) -> None:
    (folder / "root_agent.yaml").write_text(FILE + "colour: red\n", encoding="utf-8")
    done = ostinato("generate", "desk", "--out", "desk/agent.py")
    assert done.code == 1
    assert done.err.startswith("error: desk/root_agent.yaml, line 4, colour: ")
    (folder / "root_agent.yaml").write_text("name: a b\ninstruction: i\n", encoding="utf-8")
    assert "line 1, name" in ostinato("generate", "desk", "--out", "desk/agent.py").err
    assert not (folder / "agent.py").exists()


def test_wrong_usage(ostinato: Ostinato, tmp_path: Path) -> None:
    assert ostinato("generate").code == 2
    assert ostinato("generate", "nowhere").code == 2


def test_the_schema(ostinato: Ostinato) -> None:
    done = ostinato("generate", "--schema")
    assert json.loads(done.out)["title"] == "An agent of Ostinato"
    assert ostinato("generate", "--schema", "--out", "a.json").code == 0
    assert Path("a.json").read_text(encoding="utf-8") == done.out


def test_run_takes_files_and_the_code_that_is_allowed(ostinato: Ostinato, folder: Path) -> None:
    assert ostinato("run", "desk", "Hello").code == 0
    text = FILE + "tools:\n  - name: json.loads\n"
    (folder / "root_agent.yaml").write_text(text, encoding="utf-8")
    done = ostinato("run", "desk", "Hello")
    assert done.code == 1 and "line 5, tools[0].name" in done.err
    assert ostinato("run", "desk", "Hello", "--allow-code-from", "json").code == 0


def test_nothing_half_run_is_lost_where_the_file_breaks(ostinato: Ostinato, folder: Path) -> None:
    """A run that waits for a yes goes on when the file is mended."""
    (folder / "tools.py").write_text(
        "def pay(amount: int) -> dict:\n    'Pay an amount.'\n    return {'paid': amount}\n",
        encoding="utf-8",
    )
    good = FILE + (
        "tools:\n  - name: FunctionTool\n    args: {func: desk.tools.pay, "
        "require_confirmation: true}\n"
    )
    file = folder / "root_agent.yaml"
    file.write_text(good, encoding="utf-8")
    done = ostinato("run", "desk", "Pay 7", "--session", "s")
    assert done.code == 0 and "--approve" in done.out
    before = ostinato("sessions", "show", "s", "--json").out
    approve = done.out.split("--approve ")[1].split()[0]
    file.write_text(good.replace("func:", "fun:"), encoding="utf-8")
    done = ostinato("run", "desk", "--session", "s", "--approve", approve)
    assert done.code == 1 and "line 6, tools[0].args.fun" in done.err
    assert ostinato("sessions", "show", "s", "--json").out == before
    file.write_text(good, encoding="utf-8")
    done = ostinato("run", "desk", "--session", "s", "--approve", approve)
    assert done.code == 0 and "paid: 7" in done.out

"""A folder of its own for each test of the command line, agents made from text, and the command."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from ostinato.cli.main import main
from ostinato.compat import uninstall

MakeAgent = Callable[..., Path]


@dataclass(frozen=True)
class Done:
    """What a command left: exit code, standard output and standard error."""

    code: int
    out: str
    err: str


Ostinato = Callable[..., Done]


@pytest.fixture
def loaded() -> dict[str, ModuleType]:
    """The modules that were loaded before the test, by name; none of them is the test's."""
    return dict(sys.modules)


@pytest.fixture(autouse=True)
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: dict[str, ModuleType]
) -> Iterator[Path]:
    """Work in an empty folder, and forget afterwards which agents were imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGUAGE", "C")  # argparse looks for a translation of each of its words
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["ostinato"])
    path = list(sys.path)
    yield tmp_path
    uninstall()
    sys.path[:] = path
    _forget(tmp_path, loaded)


def _forget(folder: Path, loaded: dict[str, ModuleType]) -> None:
    """Let the modules below a folder be imported afresh."""
    for name, module in list(sys.modules.items()):
        if loaded.get(name) is module:
            continue
        places = [*getattr(module, "__path__", ()), getattr(module, "__file__", None) or ""]
        if any(str(place).startswith(str(folder)) for place in places):
            del sys.modules[name]


@pytest.fixture
def make_agent(tmp_path: Path) -> MakeAgent:
    """Make `NAME/agent.py` with a text; other files as keyword arguments."""

    def make(text: str, name: str = "desk", **files: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.py").write_text(text, encoding="utf-8")
        for stem, content in files.items():
            (folder / f"{stem}.py").write_text(content, encoding="utf-8")
        return folder

    return make


@pytest.fixture
def ostinato(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    loaded: dict[str, ModuleType],
) -> Iterator[Ostinato]:
    """Run a command line in this process; `stdin` is what is piped into it."""

    def run(*argv: str, stdin: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        _forget(Path.cwd(), loaded)
        try:
            code = main(argv)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        seen = capsys.readouterr()
        return Done(code, seen.out, seen.err)

    yield run

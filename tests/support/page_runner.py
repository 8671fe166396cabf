"""Runs the examples of a Markdown page in order, and compares what they print with the page.

`norun` and `needs="package"` in a fence's first line leave it out, always or without the package.
A fence with a title is a file (`title="shop/agent.py"`). A `python` fence without one runs as a
script, and the `text` fence after it is its output. A `console` fence holds commands after `$ `,
each with its output. In an output, `...` stands for any text, and alone on a line for any lines.

`python -m tests.support.page_runner PAGE ...` writes the real outputs into the pages.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from ostinato.cli.main import main as run_ostinato

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)```(?P<language>\w+)?(?P<info>[^\n]*)\n"
    r"(?P<body>.*?)^(?P=indent)```[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_NEEDS = re.compile(r'needs="(\w+)"')
_TITLE = re.compile(r'title="([^"]+)"')
_COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
# What differs from run to run: times, ids, and the bars that times make.
_VOLATILE = (
    (re.compile(r"\b[\d,]+(\.\d+)? (ms|s)\b"), "TIME"),
    (re.compile(r"\b(\d{4}-\d\d-\d\d )?\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?\b"), "ID"),
    (re.compile(r"\bin \d+\.\d+s\b"), "TIME"),
    (re.compile(r"━"), ""),
    (re.compile(r" {2,}"), " "),
)


@dataclass
class Fence:
    """A fenced block of a page."""

    language: str
    info: str
    body: str
    line: int
    start: int
    end: int

    @property
    def title(self) -> str:
        """The file that the block is, or an empty string."""
        found = _TITLE.search(self.info)
        return found[1] if found else ""

    @property
    def is_shown_only(self) -> bool:
        """Whether the block does not run: the page says so, or needs a package that is missing."""
        needed = _NEEDS.search(self.info)
        return "norun" in self.info or bool(needed and find_spec(needed[1]) is None)


def read_fences(text: str) -> list[Fence]:
    """Return the fenced blocks of a page, without their indentation."""
    fences: list[Fence] = []
    for match in _FENCE.finditer(text):
        indent = match["indent"]
        body = "".join(
            line.removeprefix(indent) for line in match["body"].splitlines(keepends=True)
        )
        line = text.count("\n", 0, match.start()) + 2
        fences.append(
            Fence(
                match["language"] or "",
                match["info"],
                body,
                line,
                match.start("body"),
                match.end("body"),
            )
        )
    return fences


@dataclass
class PageRun:
    """One pass over a page's examples, in a folder of its own.

    Attributes:
      folder: where files are written and commands run.
      with_processes: whether commands run that need a process of their own, such as pytest.
      problems: what did not run, or printed something else.
      outputs: the text that belongs between `start` and `end` of the page, from first to last.
    """

    folder: Path
    with_processes: bool = False
    problems: list[str] = field(default_factory=list[str])
    outputs: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])

    def run(self, page: Path) -> None:
        """Run the examples of a page; record problems and outputs."""
        self.run_text(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))

    def run_text(self, text: str, name: str) -> None:
        """Run the examples of a page's text; `name` is the page's in problems."""
        fences = [fence for fence in read_fences(text) if not fence.is_shown_only]
        with _in_folder(self.folder):
            for fence, following in zip(fences, [*fences[1:], None], strict=False):
                place = f"{name}:{fence.line}"
                if fence.title:
                    self._write_file(fence)
                elif fence.language == "python":
                    expected = following if following and following.language == "text" else None
                    self._run_script(place, fence, expected)
                elif fence.language == "console":
                    self._run_commands(place, fence)

    def _write_file(self, fence: Fence) -> None:
        file = self.folder / fence.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(fence.body, encoding="utf-8")

    def _run_script(self, place: str, fence: Fence, expected: Fence | None) -> None:
        script = self.folder / "_example.py"
        script.write_text(fence.body, encoding="utf-8")
        printed = _capture(["python", script.name])
        self._compare(place, expected.body if expected else None, printed)
        if expected:
            self.outputs.append((expected.start, expected.end, printed))

    def _run_commands(self, place: str, fence: Fence) -> None:
        pieces = _COMMAND.split(fence.body)[1:]
        printed: list[str] = []
        for command, expected in zip(pieces[::2], pieces[1::2], strict=True):
            words = shlex.split(command, comments=True)
            if words[0] not in ("python", "ostinato") and not self.with_processes:
                printed.append(f"$ {command}{expected}")
                continue
            output = _capture(words)
            self._compare(f"{place} `{command}`", expected, output)
            printed.append(f"$ {command}\n{output}")
        self.outputs.append((fence.start, fence.end, "".join(printed)))

    def _compare(self, place: str, expected: str | None, printed: str) -> None:
        if "Traceback (most recent call last)" in printed and "Traceback" not in (expected or ""):
            self.problems.append(f"{place} failed:\n{printed}")
        elif expected is not None and not matches_output(expected, printed):
            self.problems.append(f"{place} printed:\n{printed}\nand the page says:\n{expected}")


def matches_output(expected: str, printed: str) -> bool:
    """Return whether a program printed what a page shows; `...` stands for anything."""
    lines = [_normalize(line) for line in expected.strip().splitlines()]
    got = [_normalize(line) for line in printed.strip().splitlines()]
    while lines:
        line = lines.pop(0)
        if line == "...":
            if not lines:
                return True
            while got and not _line_matches(lines[0], got[0]):
                got.pop(0)
        elif not got or not _line_matches(line, got.pop(0)):
            return False
    return not got


def _normalize(line: str) -> str:
    for pattern, name in _VOLATILE:
        line = pattern.sub(name, line)
    return line.rstrip()


def _line_matches(expected: str, line: str) -> bool:
    first, *rest = expected.split("...")
    if not rest:
        return line == first
    if not line.startswith(first):
        return False
    at = len(first)
    for piece in rest[:-1]:
        at = line.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return line.endswith(rest[-1]) and len(line) - len(rest[-1]) >= at


@contextlib.contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    """Work in a folder, from which modules are imported; forget them afterwards."""
    before, path = Path.cwd(), sys.path[:]
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = path
        os.chdir(before)
        _forget_modules(folder)


def _forget_modules(folder: Path) -> None:
    importlib.invalidate_caches()
    for name, module in list(sys.modules.items()):
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        if any(str(place or "").startswith(str(folder)) for place in places):
            del sys.modules[name]


def _capture(words: list[str]) -> str:
    """Run a command and return what it printed."""
    name, *arguments = words
    if name not in ("python", "ostinato"):
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr
    _forget_modules(Path.cwd())
    printed = io.StringIO()
    # A program's log depends on the settings of the process that runs the example.
    log = printed if name == "ostinato" else io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(log):
        argv, sys.argv = sys.argv, words if name == "ostinato" else arguments
        try:
            if name == "ostinato":
                run_ostinato(arguments)
            else:
                runpy.run_path(arguments[0], run_name="__main__")
        except SystemExit:
            pass
        except Exception:
            traceback.print_exc(file=printed)
        finally:
            sys.argv = argv
    return printed.getvalue()


def update_page(page: Path, folder: Path) -> list[str]:
    """Write the real outputs into a page; return what failed."""
    run = PageRun(folder, with_processes=True)
    run.run(page)
    text = page.read_text(encoding="utf-8")
    for start, end, printed in reversed(run.outputs):
        shown = text[start:end]
        if not matches_output(shown, printed):
            lines = (line.rstrip() for line in printed.strip("\n").splitlines())
            text = text[:start] + "\n".join(lines) + "\n" + text[end:]
    page.write_text(text, encoding="utf-8")
    return [problem for problem in run.problems if " failed:" in problem]


def main(names: list[str]) -> int:
    """Write the outputs of pages; those of one folder share their files."""
    problems: list[str] = []
    os.environ["COLUMNS"] = "80"
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            problems += update_page(Path(name).resolve(), Path(folder))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What speaks against a release is found before anything is built."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.install.release import find_problems, list_differences


def make_source(root: Path, *, version: str = "0.9.0", changes: str = "## [0.9.0]") -> Path:
    """Make the files that name a version."""
    (root / "src/ostinato").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nversion = "0.9.0"\n', encoding="utf-8")
    (root / "src/ostinato/version.py").write_text(f'v = "{version}"\n', encoding="utf-8")
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n{changes}\n", encoding="utf-8")
    return root


def test_a_finished_release_has_no_problem(tmp_path: Path) -> None:
    assert find_problems(make_source(tmp_path), "", "v0.9.0\n") == []


def test_each_problem_is_named(tmp_path: Path) -> None:
    root = make_source(tmp_path, version="0.8.0", changes="## [Unreleased]\n## [0.9.01]")
    problems = find_problems(root, " M a.py\n", "v0.9.1\n")
    assert [problem.split()[-1] for problem in problems] == [
        "committed.", "0.9.0.", "0.9.0.", "v0.9.0.",
    ]  # fmt: skip


def test_wheels_are_compared_file_by_file(tmp_path: Path) -> None:
    for name, text in (("one", "a"), ("two", "b")):
        with zipfile.ZipFile(tmp_path / name, "w") as wheel:
            wheel.writestr("same.py", "x")
            wheel.writestr("other.py", text)
            wheel.writestr(f"{name}.py", "x")
            wheel.writestr("ostinato.dist-info/RECORD", text)
    assert list_differences(tmp_path / "one", tmp_path / "two") == ["one.py", "other.py", "two.py"]

"""Every example of the tutorial, the concepts, the recipes and the operations pages runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.page_runner import PageRun, matches_output, read_fences

DOCS = Path(__file__).resolve().parents[2] / "docs"
LESSONS = sorted(DOCS.glob("tutorial/[0-9]*.md"))
# The recipes are many, and cost seconds.
PAGES = [
    pytest.param(page, marks=pytest.mark.long if folder == "how-to" else ())
    for folder in ("concepts", "how-to", "operations", "troubleshooting")
    for page in sorted(DOCS.glob(f"{folder}/*.md"))
]
PAGES.append(pytest.param(DOCS / "index.md"))


@pytest.fixture(autouse=True)
def without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without the keys, the width of this terminal and the models of other tests."""
    monkeypatch.setattr("ostinato.models.registry._users", [])
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.long
def test_the_tutorial_runs_from_its_first_lesson_to_its_last(tmp_path: Path) -> None:
    run = PageRun(tmp_path, with_processes=True)
    for lesson in LESSONS:
        run.run(lesson)
    assert len(LESSONS) == 12
    assert not run.problems, "\n\n".join(run.problems)


def test_the_first_three_lessons_run(tmp_path: Path) -> None:
    run = PageRun(tmp_path)
    for lesson in LESSONS[:3]:
        run.run(lesson)
    assert not run.problems, "\n\n".join(run.problems)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    run = PageRun(tmp_path, with_processes=True)
    run.run(page)
    assert not run.problems, "\n\n".join(run.problems)


def test_a_block_that_fails_or_prints_something_else_is_found(tmp_path: Path) -> None:
    run = PageRun(tmp_path)
    text = (
        '```python title="a.py"\nprint("a")\n```\n\n```console\n$ python a.py\nb\n```\n\n'
        "```python\nprint(1 / 0)\n```\n\n```python norun\nprint(1 / 0)\n```\n"
    )
    run.run_text(text, "page.md")
    assert [problem.split()[0] for problem in run.problems] == ["page.md:6", "page.md:11"]
    assert "ZeroDivisionError" in run.problems[1]


@pytest.mark.parametrize(
    ("expected", "printed", "fits"),
    [
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...", "a\nb", True),
        ("a ... c", "a b c", True),
        ("a ... c", "a b", False),
        ("a", "a\nb", False),
        ("took 12 ms, 3f2a91c0", "took 9.5 ms, aaaaaaaa", True),
    ],
)
def test_outputs_match_but_for_what_differs_from_run_to_run(
    expected: str, printed: str, fits: bool
) -> None:
    assert matches_output(expected, printed) is fits


def test_an_indented_fence_loses_its_indentation() -> None:
    (fence,) = read_fences('=== "A"\n\n    ```python\n    if a:\n        b\n    ```\n')
    assert (fence.language, fence.body, fence.line) == ("python", "if a:\n    b\n", 4)

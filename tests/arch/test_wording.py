"""The source uses plain words: no banned phrase, no function named by a bare participle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.arch.wording import (
    BANNED,
    SOURCE,
    find_banned_phrases,
    is_one_word,
    is_participle,
    read_functions,
)

MAX_ONE_WORD = 30  # percent of all functions

Rule = Callable[[list[Path]], list[str]]


def find_phrases(files: list[Path]) -> list[str]:
    """Return the banned phrases of files, each with its place and remedy."""
    return [
        f"{file.name}:{line}: {phrase!r}: write {better!r}"
        for file in files
        for line, phrase, better in find_banned_phrases(file)
    ]


def find_participles(files: list[Path]) -> list[str]:
    """Return the functions that are named by a past participle alone."""
    return [
        f"{file.name}:{node.lineno}: {node.name}: write verb and object"
        for file in files
        for node in read_functions(file)
        if is_participle(node.name)
    ]


def find_one_word_names(files: list[Path]) -> list[str]:
    """Return the share of one-word function names if it is too high."""
    names = [node.name for file in files for node in read_functions(file)]
    single = [name for name in names if is_one_word(name)]
    if 100 * len(single) <= MAX_ONE_WORD * len(names):
        return []
    return [f"{len(single)} of {len(names)} function names have one word: {single[:20]}"]


RULES: tuple[Rule, ...] = (find_phrases, find_participles, find_one_word_names)


def test_source_holds_to_the_rules() -> None:
    # One test for all rules: workers that share them would each read the source.
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100, "the source was not found; the rules would hold for nothing"
    reports = [
        "\n  ".join([f"{rule.__name__}:", *found]) for rule in RULES if (found := rule(files))
    ]
    if reports:
        pytest.fail("\n".join(reports), pytrace=False)


# What each rule must report: a text that breaks it, and the words of the finding.
BROKEN: tuple[tuple[Rule, str, str], ...] = (
    (find_phrases, '"""Tell whether it is open."""\n', "file.py:1: 'Tell whether'"),
    (find_participles, "def load(): ...\nasync def _checked(): ...\n", "file.py:2: _checked"),
    (
        find_one_word_names,
        "".join(f"def {name}(): ...\n" for name in ("load", "read_a", "read_b")),
        "1 of 3 function names",
    ),
)


@pytest.mark.parametrize(
    ("rule", "text", "expected"), BROKEN, ids=[rule.__name__ for rule, *_ in BROKEN]
)
def test_rule_can_fail(rule: Rule, text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text(text, encoding="utf-8")
    (found,) = rule([file])
    assert expected in found


def test_every_rule_is_shown_to_fail() -> None:
    assert {rule for rule, _, _ in BROKEN} == set(RULES)


# A text for each banned phrase that has to be found by its own pattern.
PHRASES = (
    "it tells whether",
    "None where it ends",
    "what became of it",
    "as they are",
    "to be had",
    "goes on with",
    "goes on",
    "nobody",
    "someone else",
    "left behind",
    "unattended",
    "in our words",
    "at hand",
    "all the same",
    "passes it by",
    "see through",
    "its own door",
    "How a call is. ",
    "it is no key",
    "there is none",
    "one of ours",
    "came to nothing",
    "what is told",
    "of its own accord",
    "whereby",
)


@pytest.mark.parametrize(
    ("text", "remedy"), list(zip(PHRASES, [b for _, b in BANNED], strict=True))
)
def test_each_phrase_is_found(text: str, remedy: str, tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text(f'"""{text}"""\n', encoding="utf-8")
    assert remedy in [better for _, _, better in find_banned_phrases(file)]


def test_plain_source_breaks_no_rule(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text(
        '"""Sessions, read from a file."""\n\n\n'
        "class Store:\n"
        '    """A store, or None if there is None."""\n\n'
        "    @property\n"
        "    def closed(self):\n"
        '        """Whether the store is closed."""\n\n'
        "    def __enter__(self): ...\n\n"
        "    def load_session(self): ...\n\n"
        "    def save_session(self): ...\n\n"
        "    def drop_session(self): ...\n\n"
        "    def feed(self): ...\n",
        encoding="utf-8",
    )
    assert [rule([file]) for rule in RULES] == [[], [], []]

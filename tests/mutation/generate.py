"""Lists the mutants that mutmut makes of source files, as JSON; `run.py` starts it as a process of
its own, so that mutmut and what it imports stay out of the tested processes.

    PYTHONPATH=<mutmut> python tests/mutation/generate.py FILE...
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import create_mutations, deep_replace

from tests.support.syntax import parse

# Data for the interpreter and for type checkers: a mutant of these breaks the import or nothing.
SKIPPED_ASSIGNMENTS = ("__slots__", "__all__", "model_config", "logger")


def main(paths: list[str]) -> None:
    json.dump({path: mutants_of(path) for path in paths}, sys.stdout)


def mutants_of(path: str) -> list[dict[str, object]]:
    """The mutants of one file, each once: its source, the changed line and the diff."""
    source = Path(path).read_text(encoding="utf-8")
    module, mutations, _, _ = create_mutations(path, source)
    positions = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    skipped, original = _skipped_lines(source), ast.dump(parse(source))
    found: dict[str, dict[str, object]] = {}
    for mutation in mutations:
        position = positions.get(mutation.original_node)
        mutated = deep_replace(module, mutation.original_node, mutation.mutated_node)
        assert isinstance(mutated, cst.Module)
        text = mutated.code
        line, diff = _diff(source, text)
        if (position.start.line if position is not None else line) in skipped:
            continue
        tree = _parsed(text)
        if tree is not None and ast.dump(tree) != original:
            found.setdefault(text, {"line": line, "diff": diff, "source": text})
    return list(found.values())


def _skipped_lines(source: str) -> set[int]:
    """Lines that run for type checkers only, and assignments that are no behaviour."""
    lines: set[int] = set()
    for node in ast.walk(parse(source)):
        if not isinstance(node, ast.stmt):
            continue
        names: list[str] = []
        if isinstance(node, ast.Assign):
            names = [ast.unparse(target) for target in node.targets]
        unchecked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if unchecked or any(name in SKIPPED_ASSIGNMENTS for name in names):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _parsed(text: str) -> ast.Module | None:
    try:
        compile(text, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return parse(text)


def _diff(source: str, text: str) -> tuple[int, list[str]]:
    """The first changed line of the source, and the changed lines without context."""
    before, after = source.splitlines(), text.splitlines()
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    changes = [f"- {one.strip()}" for one in old] + [f"+ {one.strip()}" for one in new]
    return min(head + 1, len(before)), changes


if __name__ == "__main__":
    main(sys.argv[1:])

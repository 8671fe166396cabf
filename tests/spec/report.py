"""Prints which rows of the specification are covered by tests and which are open (`make spec`).
`--accept` writes the covered rows into covered.txt, to be committed with the tests that show them.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from tests.spec.bindings import Binding, read_all
from tests.spec.rows import CORE, ROWS, SECTIONS, Row

TESTS = Path(__file__).resolve().parents[1]
COVERED_FILE = Path(__file__).with_name("covered.txt")


def bound_tests() -> dict[str, list[Binding]]:
    """Row -> the tests bound to it."""
    found: dict[str, list[Binding]] = defaultdict(list)
    for binding in read_all(TESTS):
        for row in binding.rows:
            found[row].append(binding)
    return found


def listed_as_covered() -> set[str]:
    """The rows that covered.txt lists."""
    lines = COVERED_FILE.read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def in_order(rows: set[str]) -> list[str]:
    """The rows in the manifest's order, unknown ones last."""
    order = {number: place for place, number in enumerate(ROWS)}
    return sorted(rows, key=lambda row: (order.get(row, len(order)), row))


def accept(covered: set[str]) -> None:
    """Write covered.txt anew."""
    head = "# Rows that tests show, one a line. `make spec SPEC_ARGS=--accept` writes this file.\n"
    text = head + "".join(f"{row}\n" for row in in_order(covered))
    COVERED_FILE.write_text(text, encoding="utf-8")


def _print_row(row: Row, bindings: list[Binding]) -> None:
    state = "covered" if bindings else ("OPEN" if row.part == CORE else "later")
    note = "" if row.part == CORE else f"  [{row.part}]"
    print(f"  {row.number:>4} {state:<8} {row.sentence}{note}")
    for binding in bindings:
        print(f"                  {binding.path.relative_to(TESTS)}::{binding.test}")


def main() -> None:
    """Print the table and the counts; with --accept, write covered.txt too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accept", action="store_true", help="write covered.txt")
    parser.add_argument("--open", action="store_true", help="print the open rows only")
    options = parser.parse_args()
    found = bound_tests()
    for section, title in SECTIONS.items():
        rows = [row for row in ROWS.values() if row.section == section]
        done = sum(1 for row in rows if found.get(row.number))
        print(f"{section} {title}: {done} of {len(rows)}")
        for row in rows:
            if not (options.open and found.get(row.number)):
                _print_row(row, found.get(row.number, []))
    covered = found.keys() & ROWS.keys()
    core = [row for row in ROWS.values() if row.part == CORE]
    core_covered = sum(1 for row in core if row.number in covered)
    tests = len({(b.path, b.test) for row in covered for b in found[row]})
    print(
        f"\n{len(covered)} of {len(ROWS)} rows covered by {tests} tests; of the core's {len(core)} "
        f"rows {core_covered} covered, {len(core) - core_covered} open"
    )
    if options.accept:
        accept(set(covered))


if __name__ == "__main__":
    main()

"""The package holds to the rules of its house (floors.py, rules.py): each rule reports all of its
findings, and the limits that ruff watches are really set."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.arch.floors import MAX_COMPLEXITY, PACKAGE
from tests.arch.rules import RULES, Rule
from tests.arch.tree import House

ROOT = Path(__file__).resolve().parents[2]


def test_rules_hold() -> None:
    # One test for all rules: workers that share them would each read the package.
    house = House.read(ROOT / "src" / PACKAGE)
    assert house.modules, "no source file was found; the rules would hold for nothing"
    reports = [report for rule in RULES if (report := _report(rule, house))]
    if reports:
        pytest.fail("\n".join(reports), pytrace=False)


def _report(rule: Rule, house: House) -> str:
    found = dict.fromkeys(rule(house))
    return "\n  ".join([f"{rule.__name__} does not hold:", *found]) if found else ""


def test_ruff_watches_complexity() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lint = config["tool"]["ruff"]["lint"]
    assert "C90" in lint["select"]
    assert lint["mccabe"]["max-complexity"] <= MAX_COMPLEXITY
    assert not [code for code in lint.get("ignore", []) if code.startswith("C9")]
    assert "C9" not in str(lint.get("per-file-ignores", {}))

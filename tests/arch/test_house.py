"""The package holds to the rules of its house (floors.py, rules.py): one test per rule, and the
limits that ruff watches are really set."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.arch.floors import MAX_COMPLEXITY, PACKAGE
from tests.arch.rules import RULES, Rule
from tests.arch.tree import House

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house() -> House:
    return House.read(ROOT / "src" / PACKAGE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds(rule: Rule, house: House) -> None:
    assert house.modules, "no source file was found; the rules would hold for nothing"
    found = rule(house)
    if found:
        lines = "\n  ".join(dict.fromkeys(found))
        pytest.fail(f"{rule.__name__} does not hold:\n  {lines}", pytrace=False)


def test_ruff_watches_complexity() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lint = config["tool"]["ruff"]["lint"]
    assert "C90" in lint["select"]
    assert lint["mccabe"]["max-complexity"] <= MAX_COMPLEXITY
    assert not [code for code in lint.get("ignore", []) if code.startswith("C9")]
    assert "C9" not in str(lint.get("per-file-ignores", {}))

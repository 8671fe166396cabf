"""Deaths at every commit point of the examples: nothing has to be mended but what is declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato.hosting.loader import load_agent
from ostinato.testing import crash_everywhere

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[3] / "examples"


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"call": name, "args": args}


SCENARIOS: dict[str, dict[str, Any]] = {
    "weather": {
        "steps": ["In Fahrenheit, please.", "The weather in Rome and Oslo?"],
        "model": [
            call("switch_unit", unit="fahrenheit"),
            "Done.",
            [call("get_weather", city="Rome"), call("get_weather", city="Oslo")],
            "75 and 28 degrees.",
        ],
        "repeatable": ["switch_unit", "get_weather"],
    },
    "approvals": {
        "steps": ["Pay A-101 and A-102.", {"approve": "pay_invoice"}],
        "model": [
            call("list_invoices"),
            [call("pay_invoice", invoice_id="A-101"), call("pay_invoice", invoice_id="A-102")],
            "Both are paid.",
        ],
        "repeatable": ["list_invoices"],
    },
    "bakery": {
        "steps": ["Twenty rye loaves.", {"approve": "order_bread"}],
        "model": {
            "bakery": [call("transfer_to_agent", agent_name="orders")],
            "orders": [call("order_bread", bread="rye", number=20), "Ordered."],
        },
    },
    "travel_desk": {
        "steps": ["Book TP533 for Ann."],
        "model": {
            "travel_desk": [call("transfer_to_agent", agent_name="flights")],
            "flights": [
                call("search_flights", origin="Lisbon", destination="Rome", day="Friday"),
                "Shall I book it?",
            ],
        },
        "repeatable": ["search_flights"],
    },
    "research": {
        "steps": ["Coffee."],
        "model": {
            "facts": [call("search_facts", topic="coffee"), "Beans."],
            "figures": [call("search_figures", topic="coffee"), "Many."],
            "writer": ["Many beans."],
            "reviewer": [call("exit_loop")],
        },
        "repeatable": ["search_facts", "search_figures"],
    },
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_has_to_be_mended(name: str) -> None:
    loaded = load_agent(str(EXAMPLES / name))
    report = crash_everywhere(loaded.app or loaded.root, {"name": name, **SCENARIOS[name]})
    print(report)
    report.assert_once()
    assert report.kills == report.points >= 10

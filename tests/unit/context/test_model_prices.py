"""List prices: found by the names that agents and responses give a model, and sane."""

from __future__ import annotations

from datetime import date

import pytest

from ostinato.context.budget import Budget, Price
from ostinato.context.model_prices import AS_OF, LIST_PRICES, find_list_price


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("gemini-2.5-flash", "gemini-2.5-flash"),
        ("models/gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini-2.5-flash-preview-05-20", "gemini-2.5-flash"),
        ("gemini-3-pro-preview", "gemini-3-pro"),
        ("openai:gpt-5", "gpt-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("azure/gpt-4o-mini", "gpt-4o-mini"),
        ("anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("Mistral-Medium-Latest", "mistral-medium"),
    ],
)
def test_a_name_finds_its_price(name: str, listed: str) -> None:
    assert find_list_price(name) == LIST_PRICES[listed]


@pytest.mark.parametrize(
    "name", ["", "gpt", "gpt-5-ultra", "ollama:llama3.2", "my-model", "a" * 9999]
)
def test_an_unknown_name_finds_none(name: str) -> None:
    assert find_list_price(name) is None


def test_the_table_is_dated_and_plausible() -> None:
    assert date.fromisoformat(AS_OF) >= date(2026, 11, 1)
    for name, price in LIST_PRICES.items():
        assert name == name.lower()
        assert 0 < price.input <= price.output, name
        assert price.cached is None or 0 < price.cached <= price.input, name


def test_prices_of_your_own_replace_the_list() -> None:
    mine = Price(input=1, output=2)
    budget = Budget(prices={"house": mine})
    assert budget.find_price("house") == mine
    assert budget.find_price("gpt-5") is None  # its list price is in another currency, perhaps
    assert Budget().find_price("gpt-5") == Price(input=1.25, output=10, cached=0.125)

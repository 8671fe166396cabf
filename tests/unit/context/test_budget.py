"""Budget and Price as records; BudgetUsage counts what models report."""

from typing import Any

import pytest
from pydantic import ValidationError

from ostinato.context.budget import Budget, BudgetUsage, Price
from ostinato.types import GenerateContentResponseUsageMetadata as Usage


@pytest.mark.parametrize(
    ("price", "usage", "cost"),
    [
        ({"input": 2, "output": 10}, {"prompt_token_count": 1000}, 0.002),
        ({"input": 2, "output": 10}, {"candidates_token_count": 1000}, 0.01),
        ({"input": 2, "output": 10}, {"thoughts_token_count": 1000}, 0.01),
        ({"input": 2, "output": 10}, {"tool_use_prompt_token_count": 1000}, 0.002),
        (
            {"input": 2, "output": 10, "cached": 0.5},
            {"prompt_token_count": 1000, "cached_content_token_count": 400},
            0.0014,
        ),
        (
            {"input": 2, "output": 10},
            {"prompt_token_count": 1000, "cached_content_token_count": 400},
            0.002,
        ),
        (
            {"input": 2, "output": 10, "cached": 0},
            {"prompt_token_count": 1000, "cached_content_token_count": 1000},
            0,
        ),
        ({"input": 2, "output": 10}, {}, 0),
    ],
)
async def test_a_response_costs_what_its_tokens_do(
    price: dict[str, Any], usage: dict[str, Any], cost: float
) -> None:
    assert Price(**price).of(Usage(**usage)) == pytest.approx(cost)
    spending = BudgetUsage(Budget(prices={"m": Price(**price)}))
    spending.count(Usage(**usage), "m")
    spending.count(Usage(**usage), "another")
    assert spending.cost == pytest.approx(cost)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_token_count": 7, "prompt_token_count": 3, "candidates_token_count": 2}, 7),
        (
            {
                "prompt_token_count": 1,
                "candidates_token_count": 2,
                "thoughts_token_count": 4,
                "tool_use_prompt_token_count": 8,
                "cached_content_token_count": 1,
            },
            15,
        ),
        ({}, 0),
        (None, 0),
    ],
)
async def test_tokens_are_the_total_or_the_sum(usage: dict[str, Any] | None, tokens: int) -> None:
    spending = BudgetUsage(Budget())
    spending.count(None if usage is None else Usage(**usage), "m")
    assert spending.tokens == tokens


def test_a_budget_goes_over_another_field_by_field() -> None:
    mine = Budget(max_tokens=5, max_tool_calls=0, prices={"a": Price(input=1, output=1)})
    app = Budget(
        max_tokens=9,
        max_seconds=3,
        max_tool_calls=4,
        prices={"a": Price(input=2, output=2), "b": Price(input=3, output=3)},
    )
    merged = mine.over(app)
    assert merged == Budget(
        max_tokens=5,
        max_tool_calls=0,
        max_seconds=3,
        prices={"a": Price(input=1, output=1), "b": Price(input=3, output=3)},
    )
    assert mine.over(None) == mine
    assert Budget().over(app) == app


@pytest.mark.parametrize(
    "fields",
    [
        *({"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": 1.5}, {"max_tool_calls": -1}),
        *({"max_seconds": 0}, {"max_seconds": float("nan")}, {"max_seconds": float("inf")}),
        *({"max_cost": 0}, {"max_cost": float("inf")}, {"max_token": 5}),
        {"prices": {"m": {"input": -1, "output": 1}}},
        {"prices": {"m": {"input": 1}}},
        {"prices": {"m": {"input": 1, "output": 1, "cached": float("nan")}}},
        {"prices": {"m": {"input": 1, "output": 1, "price": 1}}},
    ],
)
def test_limits_that_make_no_sense_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Budget(**fields)

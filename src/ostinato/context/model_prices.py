"""List prices of the providers' models: the defaults of `Budget` and of the page.

Prices are US dollars per million tokens, as the providers published them on `AS_OF`: the standard
tier, without discounts for batches and without surcharges for very long prompts. Where a price
depends on the hour, the higher one counts. `Budget.prices` replaces the whole table.
"""

from __future__ import annotations

import re
from typing import NamedTuple

AS_OF = "2026-11-23"
CURRENCY = "USD"


class ListPrice(NamedTuple):
    """The published price of a model, in US dollars per million tokens.

    Attributes:
      input: tokens of the prompt.
      output: tokens of the answer, those of its thoughts included.
      cached: cached tokens of the prompt; None if they cost as much as the others.
    """

    input: float
    output: float
    cached: float | None = None


LIST_PRICES: dict[str, ListPrice] = {
    name: ListPrice(*price)
    for name, price in {
        # Google
        "gemini-2.0-flash": (0.10, 0.40, 0.025),
        "gemini-2.0-flash-lite": (0.075, 0.30),
        "gemini-2.5-flash": (0.30, 2.50, 0.03),
        "gemini-2.5-flash-lite": (0.10, 0.40, 0.01),
        "gemini-2.5-pro": (1.25, 10.0, 0.125),
        "gemini-3-flash": (0.50, 3.0, 0.05),
        "gemini-3-pro": (2.0, 12.0, 0.20),
        "gemini-3.1-flash-lite": (0.25, 1.50, 0.025),
        "gemini-3.1-pro": (2.0, 12.0, 0.20),
        "gemini-3.5-flash": (1.50, 9.0, 0.15),
        "gemini-3.5-flash-lite": (0.30, 2.50, 0.03),
        "gemini-3.6-flash": (0.75, 3.75, 0.075),
        "gemini-3.7-flash": (0.75, 3.75, 0.075),
        "gemini-3.8-flash": (0.75, 3.75, 0.075),
        "gemini-4-argon": (2.0, 10.0, 0.10),
        # OpenAI
        "gpt-4o": (2.50, 10.0, 1.25),
        "gpt-4o-mini": (0.15, 0.60, 0.075),
        "gpt-4.1": (2.0, 8.0, 0.50),
        "gpt-4.1-mini": (0.40, 1.60, 0.10),
        "gpt-4.1-nano": (0.10, 0.40, 0.025),
        "gpt-5": (1.25, 10.0, 0.125),
        "gpt-5-mini": (0.25, 2.0, 0.025),
        "gpt-5-nano": (0.05, 0.40, 0.005),
        "gpt-5-pro": (15.0, 120.0),
        "gpt-5.1": (1.25, 10.0, 0.125),
        "gpt-5.2": (1.75, 14.0, 0.175),
        "gpt-5.3": (1.75, 14.0, 0.175),
        "gpt-5.4": (2.50, 15.0, 0.25),
        "gpt-5.4-mini": (0.75, 4.50, 0.075),
        "gpt-5.4-nano": (0.20, 1.25, 0.02),
        "gpt-5.5": (5.0, 30.0, 0.50),
        "gpt-5.6-luna": (0.20, 1.20, 0.02),
        "gpt-5.6-sol": (4.0, 20.0, 0.40),
        "gpt-5.6-terra": (2.0, 12.0, 0.20),
        "gpt-6-astra": (10.0, 50.0, 1.0),
        "gpt-6-luna": (0.10, 0.50, 0.01),
        "gpt-6-sol": (2.0, 10.0, 0.20),
        "gpt-6.1-sol": (2.0, 10.0, 0.10),
        "gpt-6.1-terra": (1.0, 5.0, 0.05),
        "o1": (15.0, 60.0, 7.50),
        "o3": (2.0, 8.0, 0.50),
        "o3-mini": (1.10, 4.40, 0.55),
        "o3-pro": (20.0, 80.0),
        "o4-mini": (1.10, 4.40, 0.275),
        # Anthropic
        "claude-3-haiku": (0.25, 1.25, 0.03),
        "claude-3-5-haiku": (0.80, 4.0, 0.08),
        "claude-3-7-sonnet": (3.0, 15.0, 0.30),
        "claude-haiku-4-5": (1.0, 5.0, 0.10),
        "claude-haiku-5-5": (0.10, 0.50, 0.01),
        "claude-sonnet-4": (3.0, 15.0, 0.30),
        "claude-sonnet-4-0": (3.0, 15.0, 0.30),
        "claude-sonnet-4-5": (3.0, 15.0, 0.30),
        "claude-sonnet-4-6": (3.0, 15.0, 0.30),
        "claude-sonnet-5": (2.0, 10.0, 0.20),
        "claude-sonnet-5-5": (2.0, 10.0, 0.10),
        "claude-opus-4": (15.0, 75.0, 1.50),
        "claude-opus-4-0": (15.0, 75.0, 1.50),
        "claude-opus-4-1": (15.0, 75.0, 1.50),
        "claude-opus-4-5": (5.0, 25.0, 0.50),
        "claude-opus-4-6": (5.0, 25.0, 0.50),
        "claude-opus-4-7": (5.0, 25.0, 0.50),
        "claude-opus-4-8": (5.0, 25.0, 0.50),
        "claude-opus-5": (5.0, 25.0, 0.50),
        "claude-opus-5-5": (4.0, 20.0, 0.20),
        "claude-fable-5": (10.0, 50.0, 1.0),
        "claude-fable-5-1": (10.0, 50.0, 0.25),
        "claude-fable-5-2": (8.0, 40.0, 0.20),
        # Mistral
        "codestral": (0.30, 0.90),
        "ministral-3b": (0.10, 0.10, 0.01),
        "ministral-8b": (0.15, 0.15, 0.015),
        "mistral-large-2512": (0.50, 1.50, 0.05),
        "mistral-large-4": (0.70, 2.10, 0.07),
        "mistral-medium": (1.50, 7.50, 0.15),
        "mistral-small": (0.15, 0.60, 0.015),
        # DeepSeek
        "deepseek-chat": (0.27, 1.10, 0.07),
        "deepseek-reasoner": (0.55, 2.19, 0.14),
        "deepseek-v4-flash": (0.30, 1.20, 0.006),
        "deepseek-v4-pro": (1.32, 3.96, 0.044),
        # xAI
        "grok-3": (3.0, 15.0, 0.75),
        "grok-3-mini": (0.30, 0.50, 0.075),
        "grok-4.3": (1.25, 2.50, 0.20),
        "grok-4.5": (2.0, 6.0, 0.30),
        "grok-4.6": (2.0, 6.0, 0.50),
        "grok-4.7": (2.0, 6.0, 0.50),
    }.items()
}

# What follows a model's name and does not change its price: a date, a revision, a channel.
_ENDINGS = re.compile(
    r"(?:@[a-z0-9-]{1,20}"
    r"|-(?:latest|preview|exp|\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|0\d\d|v\d:\d))$"
)


def find_list_price(model: str) -> ListPrice | None:
    """Return the list price of a model, or None if the table does not have it.

    A provider in front of the name (`openai:gpt-5`, `models/gemini-2.5-pro`) and a date, revision
    or channel behind it (`gpt-4o-2024-08-06`, `gemini-3-pro-preview`) do not count.

    Args:
      model: the name that an agent gives its model, or by which a response names it.
    """
    name = model.lower()
    if name in LIST_PRICES:
        return LIST_PRICES[name]
    name = name.rpartition("/")[2].rpartition("anthropic.")[2]
    head, colon, rest = name.partition(":")
    name = rest if colon and head not in LIST_PRICES and not rest.isdigit() else name
    for _ in range(4):
        if name in LIST_PRICES:
            return LIST_PRICES[name]
        shorter = _ENDINGS.sub("", name)
        if shorter == name:
            return None
        name = shorter
    return None

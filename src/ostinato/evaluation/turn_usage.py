"""TurnUsage: the tokens, calls, cost and time of one invocation."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class TurnUsage(BaseModel):
    """What one invocation used, agents that run as tools included.

    Attributes:
      model_calls: requests to models.
      tool_calls: calls of tools.
      input_tokens, output_tokens: tokens, as the models report them.
      tokens: all tokens.
      cost: in the currency of the prices; None if a model has no price.
      seconds: time from the message to the last event.
      unpriced: names of the models without a price.
    """

    model_config = ConfigDict(defer_build=True)

    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    unpriced: list[str] = []


def add_usage(usage: list[TurnUsage]) -> TurnUsage:
    """Return the sum of several invocations.

    Args:
      usage: the invocations.
    """
    costs = [one.cost for one in usage]
    unpriced = dict.fromkeys(name for one in usage for name in one.unpriced)
    return TurnUsage(
        model_calls=sum(one.model_calls for one in usage),
        tool_calls=sum(one.tool_calls for one in usage),
        input_tokens=sum(one.input_tokens for one in usage),
        output_tokens=sum(one.output_tokens for one in usage),
        tokens=sum(one.tokens for one in usage),
        cost=None if None in costs else sum(cost or 0.0 for cost in costs),
        seconds=sum(one.seconds for one in usage),
        unpriced=list(unpriced),
    )

"""Budget: what an invocation may use, and Spending: what it has used so far.

The run's contexts share one Spending, those of sub-agents, parallel branches and AgentTool's agents
too; the flow asks it before each model and tool call, and counts with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ..errors import AgentConfigError, BudgetExceededError
from ..models.llm_response import LlmResponse
from ..types import GenerateContentResponseUsageMetadata

_R = TypeVar("_R")
_MILLION = 1_000_000


class Price(BaseModel):
    """What a model's tokens cost, in any one currency, for a million of them.

    Attributes:
      input: tokens of the prompt.
      output: tokens of the answer, those of its thoughts included.
      cached: tokens of the prompt that the provider had cached; as `input` where None.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def of(self, usage: GenerateContentResponseUsageMetadata) -> float:
        """What one response cost."""
        cached = usage.cached_content_token_count or 0
        fresh = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0) - cached
        made = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        kept = self.input if self.cached is None else self.cached
        return (max(fresh, 0) * self.input + cached * kept + made * self.output) / _MILLION


class Budget(BaseModel):
    """What one invocation may use; None sets no limit.

    What is used up is seen before the next model or tool call, so the response that crosses the
    limit is still on record, and an invocation that needs no further call ends as usual.

    Attributes:
      max_tokens: tokens of all model calls, prompts and answers, as the models report them.
      max_tool_calls: tools that are run; a call that a hook answers does not count.
      max_seconds: running time, from the start of the run or of its resumption; the model call or
        tool that runs then is cancelled.
      max_cost: cost of all model calls, in the currency of `prices`.
      prices: what the models cost, by the name that the agent gives its model.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    max_tokens: int | None = Field(default=None, ge=1)
    max_tool_calls: int | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    prices: dict[str, Price] = Field(default_factory=dict[str, Price])

    def over(self, other: Budget | None) -> Budget:
        """This budget, and `other`'s limits and prices where this one has none."""
        if other is None:
            return self
        mine = {name: value for name in _LIMITS if (value := getattr(self, name)) is not None}
        return other.model_copy(update={**mine, "prices": {**other.prices, **self.prices}})


_LIMITS = ("max_tokens", "max_tool_calls", "max_seconds", "max_cost")


class Spending:
    """What an invocation has used of its budget. Made in the event loop that the run is in.

    Attributes:
      tokens, tool_calls, cost: used so far, in the units of the Budget.
    """

    def __init__(self, budget: Budget) -> None:
        self.tokens = 0
        self.tool_calls = 0
        self.cost = 0.0
        self._budget = budget
        self._refused = False  # a tool call; the run ends, whoever answers the error
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()

    def begin_model_call(self, agent: Any) -> None:
        """Refuse a model call that the budget has no room for.

        Raises:
          BudgetExceededError: something is used up.
          AgentConfigError: there is a `max_cost`, and no price for the agent's model.
        """
        self._check(agent.name)
        budget = self._budget
        if self._refused:
            self._refuse(agent.name, "max_tool_calls", f"{self.tool_calls} tool calls")
        model = agent.canonical_model.model
        if budget.max_cost is not None and model not in budget.prices:
            known = ", ".join(map(repr, budget.prices)) or "none"
            raise AgentConfigError(
                f"Agent {agent.name!r} uses the model {model!r}, for which Budget.prices has no "
                f"price (it has: {known}), and max_cost is set. Add prices={{{model!r}: "
                "Price(input=..., output=...)}."
            )

    def begin_tool_call(self, agent: Any) -> None:
        """Count a tool call, or refuse it.

        Raises:
          BudgetExceededError: something is used up.
        """
        self._check(agent.name)
        allowed = self._budget.max_tool_calls
        if allowed is not None and self.tool_calls >= allowed:
            self._refused = True
            self._refuse(agent.name, "max_tool_calls", f"{self.tool_calls} tool calls")
        self.tool_calls += 1

    async def next_response(
        self, responses: AsyncIterator[LlmResponse], agent: Any
    ) -> LlmResponse | None:
        """Wait for a model's next response and count it; None where there is none any more.

        Raises:
          BudgetExceededError: the time is up.
        """
        response = await self.in_time(anext(responses, None), agent)
        if isinstance(response, LlmResponse) and not response.partial:
            self.count(response.usage_metadata, agent.canonical_model.model)
        return response

    async def in_time(self, work: Awaitable[_R], agent: Any) -> _R:
        """Wait for a model or a tool; cancel it when the time is up.

        Raises:
          BudgetExceededError: it was.
        """
        seconds = self._budget.max_seconds
        if seconds is None:
            return await work
        limit = asyncio.timeout_at(self._began + seconds)
        try:
            async with limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
        self._refuse(agent.name, "max_seconds", f"{self._seconds:.3g} seconds")

    def count(self, usage: GenerateContentResponseUsageMetadata | None, model: str) -> None:
        """Count what a model reports of one response."""
        if usage is None:
            return
        self.tokens += usage.total_token_count or sum(
            count or 0
            for count in (
                usage.prompt_token_count,
                usage.tool_use_prompt_token_count,
                usage.candidates_token_count,
                usage.thoughts_token_count,
            )
        )
        price = self._budget.prices.get(model)
        if price is not None:
            self.cost += price.of(usage)

    @property
    def _seconds(self) -> float:
        return self._loop.time() - self._began

    def _check(self, agent: str) -> None:
        budget = self._budget
        if budget.max_tokens is not None and self.tokens >= budget.max_tokens:
            self._refuse(agent, "max_tokens", f"{self.tokens} tokens")
        if budget.max_cost is not None and self.cost >= budget.max_cost:
            self._refuse(agent, "max_cost", f"a cost of {self.cost:.6g}")
        if budget.max_seconds is not None and self._seconds >= budget.max_seconds:
            self._refuse(agent, "max_seconds", f"{self._seconds:.3g} seconds")

    def _refuse(self, agent: str, limit: str, used: str) -> NoReturn:
        raise BudgetExceededError(
            f"Agent {agent!r} may not go on: the invocation has used {used}, and its budget allows "
            f"{limit}={getattr(self._budget, limit)}. Raise it in RunConfig.budget or App.budget."
        )
